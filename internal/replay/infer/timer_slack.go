package infer

import (
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Timers of the runtime are late: while the program is idle it waits for timers and the network
// together, in whole milliseconds. A region that sleeps for half as long is late by as much as
// before. By how much shows where it is known for how long a goroutine has asked to sleep: the one
// that a trace starts to read samples, each time for 100 ms.

const (
	// AskedBySampler is for how long that goroutine sleeps, ns.
	AskedBySampler = 100_000_000
	// leastSleeps is how many of its sleeps a mean takes.
	leastSleeps = 5
)

// tardiness returns how late timers are on average, ns; 0 where that is not known.
func tardiness(p *model.Program) int64 {
	isSampler := func(s trace.Site) bool {
		return slices.ContainsFunc(s.Frames, func(f trace.Frame) bool { return strings.HasPrefix(f.Func, "runtime.traceStartReadCPU") })
	}
	if !slices.ContainsFunc(p.Rec.Sites, isSampler) {
		return 0
	}
	var sum, n int64
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if o.Kind != model.OpOut && o.Kind != model.OpWait || o.D < AskedBySampler || o.D > AskedBySampler+cond.MostLate {
				continue
			}
			if isSampler(p.Rec.Sites[o.Site]) {
				sum, n = sum+o.D-AskedBySampler, n+1
			}
		}
	}
	if n < leastSleeps {
		return 0
	}
	return sum / n
}
