package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestTimersStayLate has a region that sleeps for half as long be late by as much as before: here
// by 0.5 ms each time.
func TestTimersStayLate(t *testing.T) {
	const sleeper, sampler, late = 1, 2, 500_000
	for name, tc := range map[string]struct {
		reason int32
		known  bool // by how much timers are late
		want   float64
	}{
		"a timer":                           {trace.WaitTimer, true, 1.55 / 4},
		"a timer, by a case":                {trace.WaitSelect, true, 1.55 / 4},
		"the network":                       {trace.WaitNetwork, true, 1.8 / 4},
		"late, it is not known by how much": {trace.WaitTimer, false, 1.8 / 4},
	} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 2)
			b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: "main.work"}}}, trace.Site{Frames: []trace.Frame{{Func: "runtime.chanrecv1"}, {Func: "runtime.traceStartReadCPU.func1"}}})
			b.Running(0, sleeper)
			b.Running(0, sampler)
			waits := func(at, g int64, site, reason int32) {
				b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
			}
			next := int64(10)
			waits(next, sampler, 2, trace.WaitReceive)
			for i := range int64(250) { // 3.6 ms, which the region has asked 3.1 ms for, and 0.4 ms more
				at := 4 * ms * i
				b.Open(at+20, sleeper, uint64(i+1), 0, trace.Region{Name: "work"})
				waits(at+21, sleeper, 1, tc.reason)
				if due := next + cond.AskedBySampler + late; tc.known && due > at+21 && due < at+3_600_000 {
					b.Ready(due, sampler, -1)
					b.Start(due+1, sampler, 1)
					next = due + 2
					waits(next, sampler, 2, trace.WaitReceive)
				}
				b.Ready(at+21+3_600_000, sleeper, -1)
				b.Start(at+22+3_600_000, sleeper, 0)
				b.Close(at+23+3_600_000, sleeper, uint64(i+1))
				b.Visit(at+24+3_600_000, sleeper, "done")
				waits(at+25+3_600_000, sleeper, 0, trace.WaitOther)
				b.Ready(at+4*ms, sleeper, -1)
				b.Start(at+4*ms, sleeper, 0)
			}
			before, after := Predict(recorded(t, b, 1000*ms), "done", Speedup{trace.Region{Name: "work"}, 0.5})
			if got := 1 - after/before; !isNear(got, tc.want, 0.02) {
				t.Errorf("half the sleep: %.3f less time between visits, want %.3f", got, tc.want)
			}
		})
	}
}
