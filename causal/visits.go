package causal

import (
	"sync"
	"time"
)

// A visitCounter counts the visits of one progress point. Periods are measured from visit to
// visit: a window that is cut by the clock has one more or less of them by chance, which is 5 %
// of twenty.
type visitCounter struct {
	mu   sync.Mutex
	last visit
}

// A visit is the number of visits up to one, when that was, and what the growth was then, in ns.
type visit struct {
	count      uint64
	at, growth int64
}

func (c *visitCounter) add(at, growth int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.count++
	c.last.at, c.last.growth = max(c.last.at, at), max(c.last.growth, growth)
}

func (c *visitCounter) latest() visit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// reset forgets the growth, which begins anew with each experiment.
func (c *visitCounter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.growth = 0
}

// A passage is what has happened between two visits of a progress point: how many there were
// after the first, and the time, less what goroutines were to be delayed in it.
type passage struct {
	visits    uint64
	effective time.Duration
}

func (v visit) since(earlier visit) passage {
	return passage{
		visits:    v.count - earlier.count,
		effective: time.Duration((v.at - earlier.at) - (v.growth - earlier.growth)),
	}
}
