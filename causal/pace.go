package causal

import (
	"sync/atomic"
	"time"
)

// paceOver is the time over which a run's pace is taken.
const paceOver = 10 * time.Second

// A pace tells how fast a run spends its budget. Of the run's goroutine, but for duty.
type pace struct {
	spent []spending // one each second
	duty  atomic.Pointer[float64]
}

type spending struct {
	at    time.Time
	total time.Duration
}

// mark books what has been spent by now, with so many processors.
func (p *pace) mark(now time.Time, total time.Duration, processors int) {
	if n := len(p.spent); n > 0 && now.Sub(p.spent[n-1].at) < time.Second {
		return
	}
	for len(p.spent) > 1 && now.Sub(p.spent[1].at) >= paceOver {
		p.spent = p.spent[1:]
	}
	p.spent = append(p.spent, spending{now, total})
	if first := p.spent[0]; now.After(first.at) {
		duty := float64(total-first.total) / float64(now.Sub(first.at)) / float64(processors)
		p.duty.Store(&duty)
	}
}

// now returns the delay per second of wall time and processor, 0 before a second is over.
func (p *pace) now() float64 {
	if duty := p.duty.Load(); duty != nil {
		return *duty
	}
	return 0
}
