// Package causes keeps a log from being filled by one trouble: it tells which cause is new enough to be said.
package causes

import (
	"maps"
	"time"
)

const (
	// RepeatAfter is how long a cause that has been said is not said again, even if all was well in between: what
	// comes and goes must not fill the log.
	RepeatAfter = 10 * time.Minute
	// Max bounds the causes that are remembered; further ones are taken as one.
	Max = 32
)

// A Log knows what has been said. The zero Log is ready. It is for one goroutine at a time.
type Log struct{ said map[string]time.Time }

// Due tells whether a cause is to be said now, and notes that it is.
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
