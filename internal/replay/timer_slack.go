package replay

import (
	"slices"
	"strings"
)

// Timers of the runtime are late: while the program is idle it waits for timers and the network together, in whole milliseconds. A region
// that sleeps for half as long is late by as much as before. By how much shows where it is known for how long a goroutine has asked to
// sleep: the one that a trace starts to read samples, each time for 100 ms.

const (
	askedBySampler = 100_000_000
	// leastSleeps is how many of its sleeps a mean takes.
	leastSleeps = 5
)

// tardiness returns how late timers are on average, ns; 0 where that is not known.
func (p *program) tardiness() int64 {
	isSampler := func(s Site) bool {
		return slices.ContainsFunc(s.Frames, func(f Frame) bool { return strings.HasPrefix(f.Func, "runtime.traceStartReadCPU") })
	}
	if !slices.ContainsFunc(p.rec.sites, isSampler) {
		return 0
	}
	var sum, n int64
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.kind != opOut && o.kind != opWait || o.d < askedBySampler || o.d > askedBySampler+mostLate {
				continue
			}
			if isSampler(p.rec.sites[o.site]) {
				sum, n = sum+o.d-askedBySampler, n+1
			}
		}
	}
	if n < leastSleeps {
		return 0
	}
	return sum / n
}

// timed reports whether a timer ended a wait.
func (o *op) timed() bool {
	return o.kind == opOut && (o.reason == waitTimer || o.reason == waitReceive || o.reason == waitSelect)
}

// shortened returns what is left of a wait for something outside, of which a timer that is late does not get shorter.
func (s *simulation) shortened(o *instruction) int64 {
	late := int64(o.ref)
	return late + s.scaled(o.d-late, o.set)
}
