package experiment

import (
	"testing"
	"time"
)

// A visit that has read the growth of an experiment just before the next one begins leaves nothing
// of it there: the largest growth counts, so that none of the next one would until it is as large.
func TestVisitBetweenExperiments(t *testing.T) {
	var c VisitCounter
	reset := make(chan struct{})
	c.Add(func() (at, growth int64) {
		go func() {
			defer close(reset)
			c.Reset()
		}()
		time.Sleep(20 * time.Millisecond) // as a goroutine that loses its processor
		return 1000, 500
	})
	<-reset
	if got, want := c.Latest(), (Visit{Count: 1, At: 1000}); got != want {
		t.Errorf("latest visit %+v, want %+v", got, want)
	}
	c.Add(func() (at, growth int64) { return 2000, 100 })
	if got, want := c.Latest(), (Visit{Count: 2, At: 2000, Growth: 100}); got != want {
		t.Errorf("latest visit %+v, want %+v", got, want)
	}
}
