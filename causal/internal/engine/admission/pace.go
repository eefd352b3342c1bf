package admission

import (
	"sync/atomic"
	"time"
)

// paceOver is the time over which a run's pace is taken.
const paceOver = 10 * time.Second

// A Pace is how fast a run spends its budget. Of the run's goroutine, but for duty.
type Pace struct {
	Spent []spending // one each second
	duty  atomic.Pointer[float64]
}

type spending struct {
	at    time.Time
	total time.Duration
}

// Mark books what has been spent by now, with so many processors.
func (p *Pace) Mark(now time.Time, total time.Duration, processors int) {
	if n := len(p.Spent); n > 0 && now.Sub(p.Spent[n-1].at) < time.Second {
		return
	}
	for len(p.Spent) > 1 && now.Sub(p.Spent[1].at) >= paceOver {
		p.Spent = p.Spent[1:]
	}
	p.Spent = append(p.Spent, spending{now, total})
	if first := p.Spent[0]; now.After(first.at) {
		duty := float64(total-first.total) / float64(now.Sub(first.at)) / float64(processors)
		p.duty.Store(&duty)
	}
}

// Now returns the delay per second of wall time and processor, 0 before a second is over.
func (p *Pace) Now() float64 {
	if duty := p.duty.Load(); duty != nil {
		return *duty
	}
	return 0
}
