package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestConfine has a dispatcher hand what comes to two subscribers. One takes 4 ms, so that the
// dispatcher waits for it, the other one takes 3 ms and waits for the dispatcher. If the first one
// takes 1 ms the dispatcher comes to wait for the other one, whose channel was never full.
func TestConfine(t *testing.T) {
	const dispatcher, first, second = 1, 2, 3
	const atSend, atReceive, sends, takes, works = 1, 2, 3, 4, 5
	b := trace.NewRecorder(0, 4)
	for _, f := range []string{"runtime.chansend1", "runtime.chanrecv2", "runtime.chansend1", "runtime.chanrecv2", "time.Sleep"} {
		b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: f}, {Func: "main.run"}}})
	}
	waits := func(at, g int64, site, reason int32) {
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
	}
	wakes := func(at, g, by int64, site int32) {
		b.Add(trace.Event{Kind: trace.EvReady, At: at, G: b.Goroutine(g), By: b.Goroutine(by), Site: site})
	}
	b.Running(0, dispatcher)
	b.Running(0, first)
	b.Running(0, second)
	waits(1, dispatcher, atSend, trace.WaitSend)
	waits(2, second, atReceive, trace.WaitReceive)
	for i := range int64(100) {
		at := 4*ms*i + 10
		wakes(at, dispatcher, first, takes)
		b.Open(at+1, first, uint64(2*i+1), 0, trace.Region{Name: "index"})
		waits(at+2, first, works, trace.WaitTimer)
		b.Start(at+3, dispatcher, 0)
		wakes(at+4, second, dispatcher, sends)
		waits(at+5, dispatcher, atSend, trace.WaitSend)
		b.Start(at+6, second, 1)
		b.Open(at+7, second, uint64(2*i+2), 0, trace.Region{Name: "audit"})
		waits(at+8, second, works, trace.WaitTimer)
		b.Ready(at+3*ms, second, -1)
		b.Start(at+3*ms+1, second, 1)
		b.Close(at+3*ms+2, second, uint64(2*i+2))
		waits(at+3*ms+3, second, atReceive, trace.WaitReceive)
		b.Ready(at+4*ms-5, first, -1)
		b.Start(at+4*ms-4, first, 2)
		b.Close(at+4*ms-3, first, uint64(2*i+1))
	}
	rec := recorded(t, b, 400*ms+20)
	d := rec.End - rec.Start
	for name, tc := range map[string]struct {
		tight bool
		want  float64
	}{
		"any number of elements":  {want: 0.75},
		"no more than were there": {tight: true, want: 0.25},
	} {
		t.Run(name, func(t *testing.T) {
			p := infer.NewProgram(rec, false)
			if tc.tight && !doubt.Confine(p) {
				t.Fatal("there is no channel of which it is not known how much room it has")
			}
			base := sim.Simulate(p, sim.Change{}, d)
			if missed := doubt.Misses(p, &base, d); missed > doubt.MaxDeviation {
				t.Errorf("nothing changed misses the recording by %.1f %%", 100*missed)
			}
			c := sim.Simulate(p, sim.Change{Factors: map[int32]float64{0: 0.25}}, d)
			if got := 1 - doubt.Period(c.Visits[0], d)/doubt.Period(base.Visits[0], d); !isNear(got, tc.want, 0.03) {
				t.Errorf("%s in a quarter of the time: %.3f less between visits of %s, want %.3f", rec.Regions[0], got, p.Points[0].Name, tc.want)
			}
		})
	}
}
