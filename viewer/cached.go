package viewer

import (
	"sync"
	"time"
)

// cached has one answer for concurrent requests, computed anew when it is old. The zero value is
// ready for use.
type cached[T any] struct {
	mu    sync.Mutex // held while computing: the second request waits for the first
	until time.Time
	last  T
}

// get returns what must not be changed. What was computed stands for age, and for rest times as
// long as computing it took, so that it fills no processor while pages are open; an error does not.
func (c *cached[T]) get(age time.Duration, rest int, compute func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	if !began.After(c.until) {
		return c.last, nil
	}
	v, err := compute()
	if err == nil {
		done := time.Now()
		c.last, c.until = v, done.Add(max(age, time.Duration(rest)*done.Sub(began)))
	}
	return v, err
}

// expire makes the next answer a new one.
func (c *cached[T]) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}
