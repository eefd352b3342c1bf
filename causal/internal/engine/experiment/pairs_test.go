package experiment

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/stats"
)

var (
	zero = Arm{Spared: SparesNone}
	half = Arm{0.5, 0}
	most = Arm{0.75, 1}
)

// of is a step in which one visit took so long.
func of(a Arm, time float64) Step {
	if time == 0 {
		return Step{Arm: a}
	}
	return Step{Arm: a, time: time, visits: 1}
}

func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []Step
		want  map[Arm][]float64
	}{
		{"nothing", nil, map[Arm][]float64{}},
		{"both sides", []Step{of(zero, 10), of(half, 8), of(zero, 10)}, map[Arm][]float64{half: {0.2}}},
		{"one side", []Step{of(half, 8), of(zero, 10), of(most, 5)}, map[Arm][]float64{half: {0.2}, most: {0.5}}},
		{"two arms between baselines", []Step{of(zero, 10), of(half, 8), of(most, 5), of(zero, 10)}, map[Arm][]float64{half: {0.2}, most: {0.5}}},
		{"a drift", []Step{of(zero, 10), of(half, 8.8), of(zero, 12)}, map[Arm][]float64{half: {0.2}}},
		{"a drift, two arms", []Step{of(zero, 10), of(half, 8.8), of(most, 6), of(zero, 13)}, map[Arm][]float64{half: {0.2}, most: {0.5}}},
		{"no baseline near", []Step{of(zero, 10), of(most, 0), of(most, 0), of(half, 8)}, map[Arm][]float64{}},
		{"thrown away", []Step{of(zero, 0), of(half, 8), of(zero, 10), of(half, 0), of(zero, 10)}, map[Arm][]float64{half: {0.2}}},
		// 1 - 19/3 * 4/40: the totals.
		{"of several rounds", []Step{of(zero, 10), {Arm: half, time: 8, visits: 1}, of(zero, 10), {Arm: half, time: 11, visits: 2}, of(zero, 10)}, map[Arm][]float64{half: {2*(1-19./30) - 0.45, 2*(1-19./30) - 0.2}}},
	} {
		if diff := cmp.Diff(tt.want, Pairs(tt.steps), near); diff != "" {
			t.Errorf("%s: pairs differ, -want +got:\n%s", tt.name, diff)
		}
	}
}

// TestBaselinesOfOneRound: an arm at the edge of a round is compared with the baseline of its own.
func TestBaselinesOfOneRound(t *testing.T) {
	in := func(round int, s Step) Step {
		s.round = round
		return s
	}
	steps := []Step{in(0, of(zero, 10)), in(0, of(most, 5)), in(1, of(half, 16)), in(1, of(zero, 20)), in(2, of(most, 5))}
	if diff := cmp.Diff(map[Arm][]float64{half: {0.2}, most: Pairs(steps)[most]}, Pairs(steps), near); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

// TestBaselinesArePlacebos: each arm without delay is one of a region, so that all is done that an
// arm does.
func TestBaselinesArePlacebos(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, regions := range []int{1, 2, 7} {
		arms := OverlapArms(regions, []float64{0, 0.1, 0.5}, 0.4, nothing, rng)
		for i, a := range arms {
			near := func(j int) bool {
				return j >= 0 && j < len(arms) && arms[j].Speedup > 0 && arms[j].Spared == a.Spared
			}
			if a.Speedup == 0 && !near(i-1) && !near(i+1) && !near(i+2) && !near(i-2) {
				t.Errorf("%d regions: arm %d is a placebo of region %d, which is not next to it: %v", regions, i, a.Spared, arms)
			}
		}
	}
}

// TestSelfCheckOfBaselines: intervals made from baselines alone hold zero where the load is steady,
// and a load that changes with the experiments is found.
func TestSelfCheckOfBaselines(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	steps := func(n int, period func(i int) float64) (steps []Step) {
		for i := range n {
			steps = append(steps, of(zero, period(i)), of(half, 5))
		}
		return steps
	}
	const runs = 200
	failed, intervals, missed := 0, 0, 0
	for range runs {
		c := CheckBaselines(steps(160, func(int) float64 { return 10 * math.Exp(0.1*rng.NormFloat64()) }))
		intervals, missed = intervals+c.intervals, missed+c.missed
		if c.withheld().Code != "" {
			failed++
		}
	}
	t.Logf("%d of %d intervals leave out zero; the check fails in %d of %d runs", missed, intervals, failed, runs)
	if failed > runs/50 || missed > intervals/10 {
		t.Errorf("%d of %d intervals leave out zero and %d of %d runs fail, where all is well", missed, intervals, failed, runs)
	}
	swings := CheckBaselines(steps(160, func(i int) float64 { return 10 + float64(i%2) + 0.1*rng.NormFloat64() }))
	if want := (profile.Withheld{Code: withheldcode.SelfCheck, Count: 9, Of: 9}); swings.withheld() != want {
		t.Errorf("a load that swings with the experiments: %+v, want %+v", swings.withheld(), want)
	}
	if c := CheckBaselines(steps(10, func(i int) float64 { return 10 + float64(i%2) })); c.withheld().Code != "" {
		t.Errorf("ten baselines: %v, want that they are too few", c.withheld())
	}
}

// A whole campaign in noise and drift, with the stopping rule and the refinements in force:
// the intervals hold the truth in at least 90 % of cells, and it comes to an end.
func TestCampaignCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	truth := func(a Arm) float64 {
		if a.Spared == 0 {
			return min(a.Speedup, 0.3) // of a pipeline's slow stage
		}
		return 0
	}
	cells, hits, rounds, refined, wide := 0, 0, 0, 0, 0
	const campaigns = 40
	for range campaigns {
		var steps []Step
		drift := 0.
		for {
			measured := Pairs(steps)
			arms := OverlapArms(2, []float64{0, 0.1, 0.25, 0.5}, 0.4, func(a Arm) [][]float64 { return [][]float64{measured[a]} }, rng)
			if len(arms) == 0 || len(steps) > 5000 {
				break
			}
			rounds++
			for _, a := range arms {
				drift += 0.003 * rng.NormFloat64()
				steps = append(steps, of(a, math.Exp(drift+0.02*rng.NormFloat64())*(1-truth(a))))
			}
		}
		measured := Pairs(steps)
		for a, samples := range measured {
			e := profile.NewEffect(a.Speedup, samples, nil)
			if !e.Known() {
				continue
			}
			cells++
			if e.Lo <= truth(a) && truth(a) <= e.Hi {
				hits++
			}
			if a.Speedup > 0.25 && a.Speedup < 0.5 {
				refined++
			}
			if e.Hi-e.Lo > 4*stats.GoodEnough {
				wide++
			}
		}
		if len(steps) > 5000 {
			t.Fatal("the campaign has no end")
		}
	}
	share := float64(hits) / float64(cells)
	t.Logf("%d campaigns of %d rounds, %d cells, %d near the knee: covered %.1f %%", campaigns, rounds/campaigns, cells, refined, 100*share)
	if share < 0.9 {
		t.Errorf("the interval holds the truth in %.1f %% of cells, want 90 %%", 100*share)
	}
	if wide > cells/50 {
		t.Errorf("%d cells of %d were left with wide intervals", wide, cells)
	}
	if refined < campaigns/2 {
		t.Errorf("%d cells near the knee in %d campaigns, want one in most", refined, campaigns)
	}
}

// TestNothingHappened: a window without a visit has no time, and one without a span no latency.
func TestNothingHappened(t *testing.T) {
	if p := (Visit{Count: 3, At: 100}).Since(Visit{Count: 3, At: 500}); p != (Passage{}) {
		t.Errorf("%+v between two looks at one visit, want nothing", p)
	}
	idle := []Experiment{{Passages: make([]Passage, 1), Quantiles: [][]float64{{0}}}}
	if s := StepsOf(idle, true, 0, 0)[0]; s.visits != 0 {
		t.Errorf("%+v of a window without spans, want nothing", s)
	}
}
