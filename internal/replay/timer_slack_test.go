package replay

import (
	"testing"
)

// TestTimersStayLate has a region that sleeps for half as long be late by as much as before: here by 0.5 ms each time.
func TestTimersStayLate(t *testing.T) {
	const sleeper, sampler, late = 1, 2, 500_000
	for name, tc := range map[string]struct {
		reason int32
		known  bool // by how much timers are late
		want   float64
	}{
		"a timer":                           {waitTimer, true, 1.55 / 4},
		"a timer, by a case":                {waitSelect, true, 1.55 / 4},
		"the network":                       {waitNetwork, true, 1.8 / 4},
		"late, it is not known by how much": {waitTimer, false, 1.8 / 4},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewRecorder(0, 2)
			b.r.sites = append(b.r.sites, Site{[]Frame{{Func: "main.work"}}}, Site{[]Frame{{Func: "runtime.chanrecv1"}, {Func: "runtime.traceStartReadCPU.func1"}}})
			b.Running(0, sleeper)
			b.Running(0, sampler)
			waits := func(at, g int64, site, reason int32) {
				b.add(event{kind: evWait, at: at, g: b.goroutine(g), by: noWaker, site: site, arg: reason})
			}
			next := int64(10)
			waits(next, sampler, 2, waitReceive)
			for i := range int64(250) { // 3.6 ms, which the region has asked 3.1 ms for, and 0.4 ms more
				at := 4 * ms * i
				b.Open(at+20, sleeper, uint64(i+1), 0, Region{Name: "work"})
				waits(at+21, sleeper, 1, tc.reason)
				if due := next + askedBySampler + late; tc.known && due > at+21 && due < at+3_600_000 {
					b.Ready(due, sampler, -1)
					b.Start(due+1, sampler, 1)
					next = due + 2
					waits(next, sampler, 2, waitReceive)
				}
				b.Ready(at+21+3_600_000, sleeper, -1)
				b.Start(at+22+3_600_000, sleeper, 0)
				b.Close(at+23+3_600_000, sleeper, uint64(i+1))
				b.Visit(at+24+3_600_000, sleeper, "done")
				waits(at+25+3_600_000, sleeper, 0, waitOther)
				b.Ready(at+4*ms, sleeper, -1)
				b.Start(at+4*ms, sleeper, 0)
			}
			before, after := recorded(t, b, 1000*ms).Predict("done", Speedup{Region{Name: "work"}, 0.5})
			if got := 1 - after/before; !isNear(got, tc.want, 0.02) {
				t.Errorf("half the sleep: %.3f less time between visits, want %.3f", got, tc.want)
			}
		})
	}
}
