package experiment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

// TestFavoured simulates a host that takes much of all windows, which resemble those next to them,
// and as much less of those with delays. What it takes from all alike makes no interval wider;
// where delays are favoured, intervals hold the slope of a program that loses nothing.
func TestFavoured(t *testing.T) {
	const elasticity, tries = 0.4, 300
	for _, tt := range []struct {
		name                string
		takes, scatter      float64
		favours             float64 // for each part by which the region is slower
		leastHeld, mostWide float64
	}{
		{"nothing", 0, 0, 0, 0.92, 0},
		{"much from all", 0.3, 0.15, 0, 0.92, 0.35},
		{"a little less from those with delays", 0.1, 0.02, 0.05, 0.92, 0.2},
		{"less from those with delays", 0.3, 0.05, 0.3, 0.92, 0.6},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		held, wide := 0, []float64{}
		for range tries {
			var all []Step
			before := 0.0
			for range 12 {
				for _, a := range SlowdownArms(1, design.SlowdownLevels, 0.4, func(Arm) [][]float64 { return nil }, rng) {
					before = 0.5*before + tt.scatter*rng.NormFloat64()
					takes := min(max(tt.takes+before-tt.favours*a.Speedup, 0), 0.8)
					period := 10e6 * (1 + elasticity*a.Speedup) / (1 - takes)
					all = append(all, Step{Arm: a, time: period * 40 * (1 - takes), visits: 40 * (1 - takes), own: 4e6, taken: 4e6 * a.Speedup, lost: takes})
					last := &all[len(all)-1]
					last.time = period * last.visits
				}
			}
			c := Contrasts(all)[Arm{design.SlowdownLevels[1], 0}]
			s, by := profile.NewSlope(0.3, 0.3, Elasticities(c)), Favoured(c)
			if s.Lo-by-stats.ModelError <= elasticity && elasticity <= s.Hi+by+stats.ModelError {
				held++
			}
			wide = append(wide, by)
		}
		got, median := float64(held)/tries, stats.Median(wide)
		if got < tt.leastHeld || median > tt.mostWide {
			t.Errorf("%s: %.2f of the intervals hold the slope and are wider by %.3f, want %.2f and %.2f at most", tt.name, got, median, tt.leastHeld, tt.mostWide)
		}
	}
}

func TestLost(t *testing.T) {
	for _, tt := range []struct {
		load record.Load
		want float64
	}{
		{record.Load{}, 0},
		{record.Load{CPU: 900 * time.Millisecond, Stolen: 100 * time.Millisecond}, 0.1},
		{record.Load{CPU: 400 * time.Millisecond, Others: 500 * time.Millisecond, Stolen: 100 * time.Millisecond}, 0.1},
		{record.Load{CPU: 10 * time.Millisecond, Stolen: 10 * time.Millisecond}, 0.01}, // it mostly waits
		{record.Load{CPU: 300 * time.Millisecond, Throttled: 100 * time.Millisecond, Stolen: 10 * time.Millisecond}, 0.1},
	} {
		if got := lost(tt.load, time.Second); got != tt.want {
			t.Errorf("lost(%+v) = %v, want %v", tt.load, got, tt.want)
		}
	}
}

// TestWiden: an effect is wider by as much as its speed-up is of the slow-downs, and says why where
// that is more than models may be wrong by.
func TestWiden(t *testing.T) {
	why := profile.Withheld{Code: withheldcode.Stolen, Part: 0.3}
	arms := slices.Repeat([]Contrast{{comparison: comparison{time: 1, visits: 1, baseTime: 1, baseVisits: 1}, Own: 1, taken: 0.1, Arms: 1, stretched: 0.02}}, 6)
	for speedup, warnings := range map[float64]int{0.04: 0, 0.5: 1} {
		e := profile.NewEffect(speedup, []float64{.1, .1, .1, .1, .1, .1}, nil)
		widened := func(arms []Contrast) profile.Effect {
			effects := []profile.Effect{e}
			Widen(effects, arms, why)
			return effects[0]
		}
		got := widened(arms)
		if want := 0.2 * speedup; math.Abs(got.Margin-want) > 1e-9 || math.Abs(e.Lo-got.Lo-want) > 1e-9 || len(got.Warnings) != warnings {
			t.Errorf("%+v, want a margin of %v and %d warnings", got, want, warnings)
		}
		if got := widened(arms[:4]); got.Margin != 0 {
			t.Errorf("%+v of too few arms, want it as it is", got)
		}
	}
}
