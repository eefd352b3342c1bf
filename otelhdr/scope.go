package otelhdr

import "time"

// A Scope measures from the call that made it to its Stop, and records how long that was. It is a
// value and allocates nothing.
type Scope struct {
	to    interface{ Record(v uint64) }
	start time.Duration // since processStart, by the monotonic clock
	unit  time.Duration
}

// Time begins a scope whose duration is recorded in whole units, rounded down. A unit that is not
// positive is taken as a nanosecond.
//
//	defer h.Time(time.Microsecond).Stop()
func (h *Histogram) Time(unit time.Duration) Scope { return newScope(h, unit) }

// Time begins a scope, as [Histogram.Time] does. It may be stopped by any goroutine.
func (c *Concurrent) Time(unit time.Duration) Scope { return newScope(c, unit) }

// Time begins a scope, as [Histogram.Time] does.
func (r *Recorder) Time(unit time.Duration) Scope { return newScope(r, unit) }

func newScope(to interface{ Record(v uint64) }, unit time.Duration) Scope {
	return Scope{to: to, start: time.Since(processStart), unit: max(unit, 1)}
}

// Stop records the time since the scope began and returns it. Each call records; the zero Scope
// records nothing.
func (s Scope) Stop() time.Duration {
	if s.to == nil {
		return 0
	}
	d := max(time.Since(processStart)-s.start, 0)
	s.to.Record(uint64(d / s.unit))
	return d
}
