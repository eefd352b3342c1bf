package replay

import (
	"testing"
)

// TestConfine has a dispatcher hand what comes to two subscribers. One takes 4 ms, so that the dispatcher waits for it, the other one takes 3 ms and
// waits for the dispatcher. If the first one takes 1 ms the dispatcher comes to wait for the other one, whose channel was never full.
func TestConfine(t *testing.T) {
	const dispatcher, first, second = 1, 2, 3
	const atSend, atReceive, sends, takes, works = 1, 2, 3, 4, 5
	b := NewRecorder(0, 4)
	for _, f := range []string{"runtime.chansend1", "runtime.chanrecv2", "runtime.chansend1", "runtime.chanrecv2", "time.Sleep"} {
		b.r.sites = append(b.r.sites, Site{[]Frame{{Func: f}, {Func: "main.run"}}})
	}
	waits := func(at, g int64, site, reason int32) {
		b.add(event{kind: evWait, at: at, g: b.goroutine(g), by: noWaker, site: site, arg: reason})
	}
	wakes := func(at, g, by int64, site int32) {
		b.add(event{kind: evReady, at: at, g: b.goroutine(g), by: b.goroutine(by), site: site})
	}
	b.Running(0, dispatcher)
	b.Running(0, first)
	b.Running(0, second)
	waits(1, dispatcher, atSend, waitSend)
	waits(2, second, atReceive, waitReceive)
	for i := range int64(100) {
		at := 4*ms*i + 10
		wakes(at, dispatcher, first, takes)
		b.Open(at+1, first, uint64(2*i+1), 0, Region{Name: "index"})
		waits(at+2, first, works, waitTimer)
		b.Start(at+3, dispatcher, 0)
		wakes(at+4, second, dispatcher, sends)
		waits(at+5, dispatcher, atSend, waitSend)
		b.Start(at+6, second, 1)
		b.Open(at+7, second, uint64(2*i+2), 0, Region{Name: "audit"})
		waits(at+8, second, works, waitTimer)
		b.Ready(at+3*ms, second, -1)
		b.Start(at+3*ms+1, second, 1)
		b.Close(at+3*ms+2, second, uint64(2*i+2))
		waits(at+3*ms+3, second, atReceive, waitReceive)
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
			p := newProgram(rec, false)
			if tc.tight && !p.confine() {
				t.Fatal("there is no channel of which it is not known how much room it has")
			}
			base := simulate(p, change{}, d)
			if missed := p.misses(&base, d); missed > MaxDeviation {
				t.Errorf("nothing changed misses the recording by %.1f %%", 100*missed)
			}
			c := simulate(p, change{factors: map[int32]float64{0: 0.25}}, d)
			if got := 1 - period(c.visits[0], d)/period(base.visits[0], d); !isNear(got, tc.want, 0.03) {
				t.Errorf("%s in a quarter of the time: %.3f less between visits of %s, want %.3f", rec.regions[0], got, p.points[0].name, tc.want)
			}
		})
	}
}
