package simulator

import (
	"testing"

	"github.com/otelprof/otelprof/causal/internal/ledger"
)

// TestSettingChanges lets settings come and go while spans are open, locks are held and
// goroutines wait. What was left of the one before must not be seen in the next.
func TestSettingChanges(t *testing.T) {
	const half = .5
	for _, p := range []struct {
		name string
		run  func(w *World)
		want float64
	}{
		{"mutex", mutexes(8, 10*ms, 2*ms, true), lockEffect(half)},
		{"long region", longRegion, .4},
		{"fan-out", fanOut(3, true), fanEffect(half)},
	} {
		t.Run(p.name, func(t *testing.T) {
			w := NewWorld(Config{Seed: 1, Pay: Timer, Point: Point, Shorter: ledger.Hypothesis{Region: ledger.NoRegion}})
			defer w.Stop()
			p.run(w)
			w.Run(Second)
			before := period(w.Arrivals())
			for range 8/scale + 1 {
				// No span starts or ends at such a moment.
				w.Run(w.Now() + 333*ms + 1)
				paid, err := ledger.NewPaidSetting(ledger.Hypothesis{Region: Region, Speedup: half}, 1)
				if err != nil {
					t.Fatal(err)
				}
				w.Set(paid)
				w.Run(w.Now() + 200*ms)
				first := len(w.Arrivals())
				w.Run(w.Now() + 2*Second)
				check(t, "Overlap", points(1-period(w.Arrivals()[first:])/before-p.want), gate)
				w.Set(nil)
			}
		})
	}
}

// longRegion has a region that is longer than most settings' warm-up.
func longRegion(w *World) {
	w.Go(func(g *Goroutine) {
		for {
			g.Span(Region, func() {
				for range 8 {
					g.IO(5 * ms)
					g.Span(ledger.NoRegion, func() { g.IO(5 * ms) })
				}
			})
			g.Span(Point, func() { g.IO(20 * ms) })
		}
	})
}

// TestLateness has goroutines that are late whenever they wake up, and timers that are late.
// No region is the cause of that.
func TestLateness(t *testing.T) {
	for _, p := range []program{programs[2], programs[4], programs[6], programs[10], programs[12]} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			x := p.experiment(0)
			x.Config.Wake, x.Config.Oversleep = 100*us, 500*us
			check(t, "Overlap", compare(t, x, nil), scale*gate)
		})
	}
}

// TestTenThousand has a lock that ten thousand goroutines need.
func TestTenThousand(t *testing.T) {
	const n = 10_000 / scale / scale
	h := ledger.Hypothesis{Region: Region, Speedup: .25}
	want := .25
	x := &Experiment{Program: mutexes(n, Second/scale/scale, 200*us, false), Config: Config{Pay: Timer}, Warm: 4 * Second / scale / scale, End: 9 * Second / scale / scale}
	overlap, s, err := x.Overlap(h)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("overlap %.2f %%, %+v", points(overlap), s.Counts())
	check(t, "Overlap", points(overlap-want), gate)
}
