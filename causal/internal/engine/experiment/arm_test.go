package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
)

func TestArmFactor(t *testing.T) {
	for _, tt := range []struct{ speedup, want float64 }{
		{0, 0}, {0.1, 1. / 9}, {0.2, 0.25}, {0.25, 1. / 3}, {0.5, 1}, {0.75, 3}, {0.8, 4},
	} {
		if got := (Arm{Speedup: tt.speedup}).Factor(); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("factor of speed-up %g = %g, want %g", tt.speedup, got, tt.want)
		}
	}
}

// What holds for every schedule, over the whole range of plans.
func TestScheduleProperties(t *testing.T) {
	grids := [][]float64{{0.5}, {0, 0.5}, {0, 0.1, 0.25, 0.5}, {0.8, 0.1, 0.3, 0, 0.2, 0.05}}
	for _, regions := range []int{1, 2, 3, 7, 64} {
		for _, grid := range grids {
			for _, weight := range []float64{0.1, 0.3, 0.4, 0.5, 0.9} {
				for seed := range uint64(5) {
					name := fmt.Sprintf("dilationArms(%d, %v, %g) seed %d", regions, grid, weight, seed)
					checkSchedule(t, name, regions, grid, weight, DilationArms(regions, grid, weight, rand.New(rand.NewPCG(seed, 0))))
				}
			}
		}
	}
}

func checkSchedule(t *testing.T, name string, regions int, grid []float64, weight float64, arms []Arm) {
	t.Helper()
	seen := map[Arm]int{}
	var delayed []Arm
	var zeros []int // where they stand
	for i, a := range arms {
		if a.Speedup == 0 {
			if a.Spared != SparesNone {
				t.Fatalf("%s: arm %d is %+v: without delay none is spared", name, i, a)
			}
			zeros = append(zeros, i)
			continue
		}
		seen[a]++
		delayed = append(delayed, a)
	}
	positive := 0
	for _, s := range grid {
		if s == 0 {
			continue
		}
		positive++
		for r := range regions {
			if n := seen[Arm{s, r}]; n != 1 {
				t.Errorf("%s: speed-up %g of region %d: %d arms, want 1", name, s, r, n)
			}
		}
		if n := seen[Arm{s, SparesNone}]; n != 1 {
			t.Errorf("%s: speed-up %g of all: %d arms, want 1", name, s, n)
		}
	}
	if want := positive * (regions + 1); len(delayed) != want {
		t.Errorf("%s: %d arms with delay, want %d", name, len(delayed), want)
	}
	// What is compared stands together: a block has one speed-up.
	for i := range delayed {
		if first := i / (regions + 1) * (regions + 1); delayed[i].Speedup != delayed[first].Speedup {
			t.Errorf("%s: arm %d with delay is of speed-up %g in the block of %g", name, i, delayed[i].Speedup, delayed[first].Speedup)
		}
	}
	if len(zeros) == 0 {
		t.Fatalf("%s: no arm without delay", name)
	}
	// Rounding moves the number of zeros by a half of one.
	if want := weight * float64(len(arms)); math.Abs(float64(len(zeros))-want) > 1 {
		t.Errorf("%s: %d arms of %d without delay, want about %.1f", name, len(zeros), len(arms), want)
	}
	// Evenly: in each prefix the share of zeros is that of the whole, but for one arm.
	for n, z := 0, 0; n < len(arms); n++ {
		if want := float64(n) * float64(len(zeros)) / float64(len(arms)); math.Abs(float64(z)-want) > 1 {
			t.Errorf("%s: %d of the first %d arms are without delay, want about %.1f", name, z, n, want)
		}
		if arms[n].Speedup == 0 {
			z++
		}
	}
}

func TestScheduleIsRepeatable(t *testing.T) {
	repeat := func(seed uint64) []Arm {
		return DilationArms(5, []float64{0, 0.1, 0.25, 0.5}, 0.4, rand.New(rand.NewPCG(seed, 0)))
	}
	equal := cmp.AllowUnexported(Arm{})
	if diff := cmp.Diff(repeat(1), repeat(1), equal); diff != "" {
		t.Errorf("two schedules of one seed differ:\n%s", diff)
	}
	if cmp.Equal(repeat(1), repeat(2), equal) {
		t.Errorf("the schedules of two seeds are equal: %v", repeat(1))
	}
}

// Neither the order of the speed-ups nor that of the regions may favour one.
func TestScheduleIsRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	const rounds = 3000
	first := map[Arm]int{}
	for range rounds {
		for _, a := range DilationArms(2, []float64{0.2, 0.4}, 0.1, rng) {
			if a.Speedup > 0 {
				first[a]++
				break
			}
		}
	}
	for a, n := range first {
		if n < rounds/6*8/10 || n > rounds/6*12/10 {
			t.Errorf("%+v is the first arm %d times of %d, want about %d", a, n, rounds, rounds/6)
		}
	}
	if len(first) != 6 {
		t.Errorf("%d arms are ever the first, want 6: %v", len(first), first)
	}
}

// What an explanation of a plan counts is what is run.
func TestRoundOfAPlan(t *testing.T) {
	for _, weight := range []float64{0.1, 0.4, 0.9} {
		for regions := 1; regions <= 5; regions++ {
			p := &plan.Plan{Grid: plan.Grid{Speedups: []float64{0, 10, 25, 50}, ZeroWeight: weight}}
			rng := rand.New(rand.NewPCG(1, 1))
			grid := []float64{0, 0.1, 0.25, 0.5}
			p.Mode = profile.ModeDilation
			if got, want := p.Round(regions), len(DilationArms(regions, grid, weight, rng)); got != want {
				t.Errorf("dilation of %d regions, zero_weight %g: a round of %d, want %d", regions, weight, got, want)
			}
			p.Mode = profile.ModeOverlap
			if got, want := p.Round(regions), len(OverlapArms(regions, grid, weight, nothing, rng)); got != want {
				t.Errorf("overlap of %d regions, zero_weight %g: a round of %d, want %d", regions, weight, got, want)
			}
		}
	}
}
