package causal

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	zero = arm{spared: sparesNone}
	half = arm{0.5, 0}
	most = arm{0.75, 1}
)

func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		steps    []step
		want     map[arm][]float64
		rejected int
	}{
		{"nothing", nil, map[arm][]float64{}, 0},
		{"both sides", []step{{zero, 10}, {half, 8}, {zero, 10}}, map[arm][]float64{half: {0.2}}, 0},
		{"one side", []step{{half, 8}, {zero, 10}, {most, 5}}, map[arm][]float64{half: {0.2}, most: {0.5}}, 0},
		{"two arms between baselines", []step{{zero, 10}, {half, 8}, {most, 5}, {zero, 10}}, map[arm][]float64{half: {0.2}, most: {0.5}}, 0},
		// All takes 1 % longer from step to step.
		{"a drift", []step{{zero, 10}, {half, 8 * 1.01}, {zero, 10 * 1.01 * 1.01}}, map[arm][]float64{half: {0.2}}, 0},
		{"a jump", []step{{zero, 10}, {half, 8}, {zero, 11}, {most, 5.5}, {zero, 11}, {half, 8.8}, {zero, 11}}, map[arm][]float64{most: {0.5}, half: {0.2}}, 1},
		{"no baseline near", []step{{zero, 10}, {most, 0}, {most, 0}, {half, 8}}, map[arm][]float64{}, 0},
		{"thrown away", []step{{zero, 0}, {half, 8}, {zero, 10}, {half, 0}, {zero, 10}}, map[arm][]float64{half: {0.2}}, 0},
	} {
		got, rejected := pairs(tt.steps)
		if diff := cmp.Diff(tt.want, got, near); diff != "" || len(rejected) != tt.rejected {
			t.Errorf("%s: pairs differ, %d rejected, want %d; -want +got:\n%s", tt.name, rejected, tt.rejected, diff)
		}
	}
}

// Where every baseline differs much from the last, that is no reason to reject.
func TestPairsOfNoisyBaselines(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var steps []step
	for range 100 {
		steps = append(steps, step{zero, math.Exp(0.1 * rng.NormFloat64())}, step{half, 0.8 * math.Exp(0.1*rng.NormFloat64())})
	}
	got, rejected := pairs(steps)
	if len(rejected) > 10 {
		t.Errorf("%d of 100 pairs rejected, want a few", len(rejected))
	}
	if m := median(got[half]); math.Abs(m-0.2) > 0.04 {
		t.Errorf("median reduction %.3f, want 0.2", m)
	}
}

func TestNulls(t *testing.T) {
	steps := []step{{zero, 10}, {half, 8}, {zero, 20}, {zero, 0}, {zero, 20}, {half, 3}, {zero, 40}}
	// Twice as long, and, the other way round, half.
	if diff := cmp.Diff([]float64{-1, 0.5}, nulls(steps), near); diff != "" {
		t.Errorf("nulls differ, -want +got:\n%s", diff)
	}
	if got := nulls(steps[:2]); got != nil {
		t.Errorf("nulls of one baseline = %v, want none", got)
	}
}

// A whole campaign in noise and drift, with the stopping rule and the refinements in force:
// the intervals hold the truth in at least 90 % of cells, and it comes to an end.
func TestCampaignCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	truth := func(a arm) float64 {
		if a.spared == 0 {
			return min(a.speedup, 0.3) // of a pipeline's slow stage
		}
		return 0
	}
	cells, hits, rounds, refined, wide := 0, 0, 0, 0, 0
	const campaigns = 40
	for range campaigns {
		var steps []step
		drift := 0.
		for {
			measured, _ := pairs(steps)
			arms := overlapArms(2, []float64{0, 0.1, 0.25, 0.5}, 0.4, func(a arm) [][]float64 { return [][]float64{measured[a]} }, rng)
			if len(arms) == 0 || len(steps) > 5000 {
				break
			}
			rounds++
			for _, a := range arms {
				drift += 0.003 * rng.NormFloat64()
				steps = append(steps, step{a, math.Exp(drift+0.02*rng.NormFloat64()) * (1 - truth(a))})
			}
		}
		measured, _ := pairs(steps)
		for a, samples := range measured {
			e := effectOf(a.speedup, samples, nil)
			if e.Withheld != "" {
				continue
			}
			cells++
			if e.Lo <= truth(a) && truth(a) <= e.Hi {
				hits++
			}
			if a.speedup > 0.25 && a.speedup < 0.5 {
				refined++
			}
			if e.Hi-e.Lo > 4*goodEnough {
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
