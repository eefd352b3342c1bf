// Package causes rate-limits log messages: each cause is logged at most once in [RepeatAfter], 10 minutes.
package causes

import (
	"maps"
	"time"
)

const (
	// RepeatAfter is how long a cause that has been logged is not logged again, even if it was gone in between: a cause
	// that comes and goes must not fill the log.
	RepeatAfter = 10 * time.Minute
	// Max bounds the causes that are remembered; further ones are taken as one.
	Max = 32
)

// A Log holds the causes that have been logged. The zero Log is ready. It is for one goroutine at a time.
type Log struct{ said map[string]time.Time }

// Due reports whether a cause is to be logged now, and notes that it is.
func (l *Log) Due(cause string, now time.Time) bool {
	if l.said == nil {
		l.said = map[string]time.Time{}
	}
	maps.DeleteFunc(l.said, func(_ string, at time.Time) bool { return now.Sub(at) >= RepeatAfter })
	if _, known := l.said[cause]; !known && len(l.said) >= Max-1 {
		cause = "other"
	}
	if _, known := l.said[cause]; known {
		return false
	}
	l.said[cause] = now
	return true
}

// Of makes one cause of texts that differ in ports, sizes and times: 256 bytes at most, without digits.
func Of(text string) string {
	kept := make([]byte, 0, min(len(text), 256))
	for i := 0; i < len(text) && len(kept) < cap(kept); i++ {
		if text[i] < '0' || text[i] > '9' {
			kept = append(kept, text[i])
		}
	}
	return string(kept)
}
