package asynclog

import (
	"maps"
	"time"
)

const (
	// RepeatAfter is how long a cause that has been logged is not logged again, even if it was gone
	// in between: a cause that comes and goes must not fill the log.
	RepeatAfter = 10 * time.Minute
	// MaxCauses bounds the causes that are remembered; further ones are taken as one.
	MaxCauses = 32
)

// A Causes holds the causes that have been logged. The zero Causes is ready. It is for one
// goroutine at a time.
type Causes struct{ logged map[string]time.Time }

// Due reports whether a cause is to be logged now, and notes that it is.
func (l *Causes) Due(cause string, now time.Time) bool {
	if l.logged == nil {
		l.logged = map[string]time.Time{}
	}
	maps.DeleteFunc(l.logged, func(_ string, at time.Time) bool { return now.Sub(at) >= RepeatAfter })
	if _, known := l.logged[cause]; !known && len(l.logged) >= MaxCauses-1 {
		cause = "other"
	}
	if _, known := l.logged[cause]; known {
		return false
	}
	l.logged[cause] = now
	return true
}

// CauseOf makes one cause of texts that differ in ports, sizes and times: 256 bytes at most,
// without digits.
func CauseOf(text string) string {
	kept := make([]byte, 0, min(len(text), 256))
	for i := 0; i < len(text) && len(kept) < cap(kept); i++ {
		if text[i] < '0' || text[i] > '9' {
			kept = append(kept, text[i])
		}
	}
	return string(kept)
}
