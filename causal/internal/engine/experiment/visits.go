package experiment

import (
	"sync"
	"time"
)

// A VisitCounter counts the visits of one progress point. Periods are measured from visit to
// visit: a window that is cut by the clock has one more or less of them by chance, which is 5 %
// of twenty.
type VisitCounter struct {
	mu   sync.Mutex
	Last Visit
}

// A Visit is the number of visits up to one, when that was, and what the growth was then, in ns.
type Visit struct {
	Count      uint64
	At, Growth int64
}

// Add counts a visit, and reads when it is, by the clock, and the growth then. It does so where
// Reset cannot come in between: the growth of an experiment that is over would stay in the next.
func (c *VisitCounter) Add(read func() (at, growth int64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, growth := read()
	c.Last.Count++
	c.Last.At, c.Last.Growth = max(c.Last.At, at), max(c.Last.Growth, growth)
}

// Latest is the last visit.
func (c *VisitCounter) Latest() Visit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Last
}

// Reset forgets the growth, which begins anew with each experiment. Call it when nothing is in
// force that grows.
func (c *VisitCounter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Last.Growth = 0
}

// A Passage is what has happened between two visits of a progress point: how many there were
// after the first, and the time, less what goroutines were to be delayed in it.
type Passage struct {
	Visits    uint64
	Effective time.Duration
}

// Since is what happened after an earlier visit: nothing without another one. Earlier may be a
// moment after the last visit.
func (v Visit) Since(earlier Visit) Passage {
	if v.Count == earlier.Count {
		return Passage{}
	}
	return Passage{
		Visits:    v.Count - earlier.Count,
		Effective: time.Duration((v.At - earlier.At) - (v.Growth - earlier.Growth)),
	}
}
