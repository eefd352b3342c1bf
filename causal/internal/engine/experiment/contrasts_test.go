package experiment

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// simulated returns arms of a program whose period is base, and longer by elasticity for what its
// region takes longer; windows scatter.
func simulated(rng *rand.Rand, rounds int, elasticity, scatter, drift float64) []Step {
	const base, own, visits = 10e6, 4e6, 40
	var all []Step
	for i := range rounds {
		arms := SlowdownArms(1, design.SlowdownLevels, 0.4, func(Arm) [][]float64 { return nil }, rng)
		for _, a := range arms {
			period := base * (1 + elasticity*a.Speedup) * (1 + scatter*rng.NormFloat64()) * (1 + drift*float64(i))
			all = append(all, Step{Arm: a, round: i, time: period * visits, visits: visits, own: own, taken: own * a.Speedup})
		}
	}
	return all
}

func TestElasticityOfTotals(t *testing.T) {
	for _, tt := range []struct{ elasticity, scatter, drift float64 }{{0.4, 0, 0}, {0.4, 0.02, 0}, {0, 0.02, 0}, {1, 0.02, 0.002}} {
		rng := rand.New(rand.NewPCG(1, 2))
		const tries = 100
		held := 0
		for range tries {
			c := Contrasts(simulated(rng, 20, tt.elasticity, tt.scatter, tt.drift))
			for _, level := range design.SlowdownLevels {
				s := profile.NewSlope(level, level, Elasticities(c[Arm{level, 0}]))
				if s.Lo-1e-9 <= tt.elasticity && tt.elasticity <= s.Hi+1e-9 {
					held++
				}
			}
		}
		if held < 2*tries*92/100 {
			t.Errorf("%+v: %d of %d intervals hold the truth, want 92 %%", tt, held, 2*tries)
		}
	}
}

// Where limits leave less of a delay while there is more load, a window counts by its visits on
// both sides of the quotient.
func TestElasticityUnderLoad(t *testing.T) {
	zero, slow := Arm{0, 0}, Arm{0.1, 0}
	var all []Step
	for range 6 {
		for _, load := range []struct{ visits, hold float64 }{{10, 0.1}, {1000, 0.02}} {
			placebo := Step{Arm: zero, time: 100, visits: load.visits, own: 1}
			all = append(all, placebo, Step{Arm: slow, time: 100, visits: load.visits / (1 + load.hold), own: 1, taken: load.hold}, placebo)
		}
	}
	if e := Sum(Contrasts(all)[slow]).elasticity(); math.Abs(e-1) > 0.02 {
		t.Errorf("elasticity %.2f, want 1", e)
	}
}

// A region whose spans take twice as long as in the warm-up has its own time doubled, or waits.
func TestDrift(t *testing.T) {
	windows := func(self time.Duration) (all []Experiment) {
		for range 20 {
			all = append(all, Experiment{Arm: Arm{0, 1}, Ends: 10, Self: 10 * self}, Experiment{Arm: Arm{0.1, 1}, Ends: 10, Self: 100 * self})
		}
		return all
	}
	for self, want := range map[time.Duration]float64{200: 2, 105: 0, 50: 0.5} {
		if g := Drift(windows(self), 1, 100); g != want {
			t.Errorf("%d ns in place of 100: %g times, want %g", self, g, want)
		}
	}
	if g := Drift(windows(200)[:8], 1, 100); g != 0 {
		t.Errorf("of 40 spans: %g times, want 0: it may be chance", g)
	}
}

// A delay that was taken in placebos as well counts in neither.
func TestContrastsWithoutPlacebos(t *testing.T) {
	zero, slow := Arm{0, 0}, Arm{0.1, 0}
	all := []Step{
		{Arm: zero, time: 100, visits: 10, own: 4, taken: 1},
		{Arm: slow, time: 110, visits: 10, own: 4, taken: 3},
		{Arm: zero, time: 100, visits: 10, own: 4, taken: 1},
		{Arm: slow}, // thrown away
	}
	got := Contrasts(all)[slow]
	if len(got) != 1 || math.Abs(got[0].Slower()-0.5) > 1e-9 || math.Abs(got[0].elasticity()-0.2) > 1e-9 {
		t.Errorf("%+v, want one that is slower by a half, and costs a fifth of that", got)
	}
}

// A region is measured until it is known, and then others have the time.
func TestSlowdownArmsEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	known := func(a Arm) [][]float64 {
		switch a.Spared {
		case 0: // nothing
			return [][]float64{slices.Repeat([]float64{0, 0.001, -0.001}, 5)}
		case 1: // exact
			return [][]float64{slices.Repeat([]float64{0.5, 0.501, 0.499}, 5)}
		}
		return [][]float64{{0.5, 0.1, 0.9}}
	}
	arms := SlowdownArms(3, design.SlowdownLevels, 0.1, known, rng)
	var delayed []Arm
	for _, a := range arms {
		if a.Speedup > 0 {
			delayed = append(delayed, a)
		}
		if a.Spared != 2 {
			t.Errorf("%+v: only region 2 needs more", a)
		}
	}
	slices.SortFunc(delayed, func(a, b Arm) int { return int(100 * (a.Speedup - b.Speedup)) })
	if diff := cmp.Diff([]Arm{{0.1, 2}, {0.3, 2}}, delayed, cmp.AllowUnexported(Arm{})); diff != "" {
		t.Errorf("arms with delay (-want +got):\n%s", diff)
	}
	if arms := SlowdownArms(2, design.SlowdownLevels, 0.1, known, rng); arms != nil {
		t.Errorf("%+v although all is known", arms)
	}
}

// Spans that wait in a queue outside of the program are shorter while their callers are held;
// others are not.
func TestQueues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	arms := func(absorbed float64) []Contrast {
		var all []Step
		for range 20 {
			for _, level := range []float64{0, 0.3, 0} {
				const own = 4e6
				taken := level * own
				all = append(all, Step{Arm: Arm{level, 0}, time: 1e9, visits: 100, own: own, taken: taken, spans: 1, lasts: own - absorbed*taken + 1e4*rng.NormFloat64()})
			}
		}
		return Contrasts(all)[Arm{0.3, 0}]
	}
	for _, tt := range []struct {
		waits    Waits
		absorbed float64
		want     bool
	}{
		{Waits{}, 0, false},
		{Waits{}, 0.03, false},
		{Waits{}, 0.5, true},
		{Waits{Inside: true}, 0, true},
		{Waits{Outside: true}, 0, false},
		{Waits{Outside: true}, 0.9, true},
		{Waits{Outside: true, Behind: 0.9}, 0.9, false}, // it is a processor that they wait for
		{Waits{Inside: true, Behind: 0.9}, 0, true},
	} {
		if got := tt.waits.Queues(arms(tt.absorbed)); got != tt.want {
			t.Errorf("%+v whose spans absorb %v: queues %t, want %t", tt.waits, tt.absorbed, got, tt.want)
		}
	}
	if !(Waits{Outside: true}).Queues(nil) || (Waits{}).Queues(nil) {
		t.Error("before anything is measured, spans that wait for others may queue, and no others")
	}
}

func TestPartOfDelaysNearDeadlines(t *testing.T) {
	all := []Experiment{
		{Arm: Arm{Speedup: 0.1, Spared: 1}, Delays: 50, NearDeadlines: 20},
		{Arm: Arm{Speedup: 0.3, Spared: 1}, Delays: 30},
		{Arm: Arm{Spared: 1}, Delays: 30, NearDeadlines: 9},
		{Arm: Arm{Speedup: 0.1}, Delays: 10},
	}
	for region, want := range []float64{0, 0.2, 0} {
		if got := Expiring(all, region); got != want {
			t.Errorf("expiring of region %d = %v, want %v", region, got, want)
		}
	}
}

// Where the region is slower by a tenth it has a fifth fewer spans for each visit; placebos of
// other regions say nothing of that.
func TestRerouted(t *testing.T) {
	var all []Step
	for range 6 {
		all = append(all,
			Step{Arm: Arm{0, 0}, time: 100, visits: 10, own: 4, lasts: 4, spans: 1},
			Step{Arm: Arm{0.1, 0}, time: 101, visits: 10, own: 3.2, taken: 0.32, lasts: 4, spans: 0.8},
			Step{Arm: Arm{0, 1}, time: 100, visits: 10, own: 1, lasts: 1, spans: 7})
	}
	if got := Rerouted(Contrasts(all)[Arm{0.1, 0}]); math.Abs(got.Mean+2) > 1e-9 || got.StdErr > 1e-9 {
		t.Errorf("%+v, want -2", got)
	}
	if got := Rerouted(Contrasts(all[:3])[Arm{0.1, 0}]); got != (stats.Estimate{}) {
		t.Errorf("%+v of one experiment, want nothing", got)
	}
}

// TestWindowsWithoutTheRegionCount has a region that stops all requests now and then, and none of
// its spans in most windows: what it costs is not what the windows cost in which it ran.
func TestWindowsWithoutTheRegionCount(t *testing.T) {
	var all []Step
	for i := range 40 {
		for _, a := range []Arm{{0, 0}, {0.1, 0}} {
			s := Step{Arm: a, time: 100, visits: 10}
			if i%4 == 0 {
				s.time, s.own, s.taken = 120, 4, 4*a.Speedup
			}
			all = append(all, s)
		}
	}
	if m := stats.Summarize(Elasticities(Contrasts(all)[Arm{0.1, 0}])).Mean; math.Abs(m) > 0.1 {
		t.Errorf("elasticity %v, want none", m)
	}
}

// TestRegionThatWasNotHeld: without a delay it is not known what a delay costs.
func TestRegionThatWasNotHeld(t *testing.T) {
	var all []Step
	for range 6 {
		all = append(all, Step{time: 100, visits: 10}, Step{Arm: Arm{0.1, 0}, time: 130, visits: 10, own: 4})
	}
	c := Contrasts(all)[Arm{0.1, 0}]
	if got := Elasticities(c); len(got) != 0 || Rerouted(c) != (stats.Estimate{}) {
		t.Errorf("elasticities %v, want none", got)
	}
}
