package experiment

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

func nothing(Arm) [][]float64 { return nil }

// What holds for every round.
func TestOverlapArms(t *testing.T) {
	for seed := range uint64(20) {
		for _, regions := range []int{1, 2, 7, 64} {
			for _, grid := range [][]float64{{0.5}, {0, 0.1, 0.25, 0.5}, {0.8, 0.1, 0.3, 0, 0.2}} {
				for _, weight := range []float64{0.1, 0.4, 0.5} {
					rng := rand.New(rand.NewPCG(seed, 0))
					checkRound(t, regions, grid, OverlapArms(regions, grid, weight, nothing, rng))
				}
			}
		}
	}
}

func checkRound(t *testing.T, regions int, grid []float64, arms []Arm) {
	t.Helper()
	seen := map[Arm]int{}
	zeros := 0
	last := -1
	finished := map[int]bool{}
	for i, a := range arms {
		if a.Speedup == 0 {
			zeros++
			continue
		}
		seen[a]++
		besides := i > 0 && arms[i-1].Speedup == 0 || i+1 < len(arms) && arms[i+1].Speedup == 0
		if !besides {
			t.Fatalf("%v: arm %d has no baseline beside it", arms, i)
		}
		if a.Spared != last {
			if finished[a.Spared] {
				t.Fatalf("%v: region %d has two blocks", arms, a.Spared)
			}
			finished[last] = true
			last = a.Spared
		}
	}
	positive := 0
	for _, s := range grid {
		if s == 0 {
			continue
		}
		positive++
		for r := range regions {
			if seen[Arm{s, r}] != 1 {
				t.Fatalf("%v: region %d at %g is there %d times, want once", arms, r, s, seen[Arm{s, r}])
			}
		}
	}
	if len(seen) != positive*regions {
		t.Fatalf("%v: %d cells, want %d", arms, len(seen), positive*regions)
	}
	if share := float64(zeros) / float64(len(arms)); share < 0.3 || len(arms) > 2 && share > 0.51 {
		t.Fatalf("%v: a share of %.2f zeros, want 30 to 50 %%", arms, share)
	}
}

func TestOverlapArmsDropWhatIsSettled(t *testing.T) {
	quiet := slices.Repeat([]float64{0.1}, stats.LeastToJudge)
	wild := slices.Repeat([]float64{5, -5}, 10)
	samples := func(a Arm) [][]float64 {
		switch a {
		case Arm{0.1, 0}:
			return [][]float64{quiet, quiet}
		case Arm{0.1, 1}:
			return [][]float64{quiet, quiet[:2]} // one progress point has not been seen enough
		case Arm{0.5, 0}:
			return [][]float64{wild, wild}
		}
		return [][]float64{nil, nil}
	}
	arms := OverlapArms(2, []float64{0.1, 0.5}, 0.4, samples, rand.New(rand.NewPCG(1, 1)))
	got := map[Arm]bool{}
	for _, a := range arms {
		if a.Speedup > 0 {
			got[a] = true
		}
	}
	if diff := cmp.Diff(map[Arm]bool{{0.1, 1}: true, {0.5, 1}: true}, got); diff != "" {
		t.Errorf("arms differ, -want +got:\n%s", diff)
	}
	all := func(Arm) [][]float64 { return [][]float64{quiet} }
	if arms := OverlapArms(2, []float64{0.1, 0.5}, 0.4, all, rand.New(rand.NewPCG(1, 1))); arms != nil {
		t.Errorf("arms when all is settled: %v, want none", arms)
	}
}

func TestRefined(t *testing.T) {
	values := func(v float64) [][]float64 { return [][]float64{slices.Repeat([]float64{v}, stats.LeastSamples)} }
	samples := map[Arm][][]float64{{0.1, 3}: values(0.1), {0.25, 3}: values(0.25), {0.5, 3}: values(0.31)}
	of := func(a Arm) [][]float64 { return samples[a] }
	grid := []float64{0, 0.5, 0.1, 0.25}
	if diff := cmp.Diff([]float64{0.1, 0.25, 0.31, 0.38, 0.5}, refined(3, grid, of), near); diff != "" {
		t.Errorf("refined differs, -want +got:\n%s", diff)
	}
	// What was begun stays, and is waited for.
	samples[Arm{0.31, 3}] = [][]float64{{0.3}}
	if diff := cmp.Diff([]float64{0.1, 0.25, 0.31, 0.5}, refined(3, grid, of), near); diff != "" {
		t.Errorf("refined differs, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]float64{0.1, 0.25, 0.5}, refined(4, grid, of), near); diff != "" {
		t.Errorf("refined of a region without samples differs, -want +got:\n%s", diff)
	}
}

func TestPickRegions(t *testing.T) {
	key := func(scope, span string) profile.Region { return profile.Region{Scope: scope, Name: span} }
	seen := []Candidate{
		{key("http", "GET /"), 9 * time.Second, true},
		{key("db", "query"), 5 * time.Second, false},
		{key("db", "commit"), time.Second, false},
		{key("shop", "price"), 3 * time.Second, false},
		{key("shop", "idle"), 0, false},
	}
	for _, tt := range []struct {
		name     string
		patterns []plan.RegionPattern
		want     []string
	}{
		{"none", []plan.RegionPattern{{Span: "x"}}, nil},
		{"glob, by self time", []plan.RegionPattern{{Span: "*"}}, []string{"GET /", "query", "price", "commit", "idle"}},
		{"auto", []plan.RegionPattern{{Auto: 2}}, []string{"query", "price"}},
		{"auto of a scope", []plan.RegionPattern{{Auto: 5, Scope: "shop"}}, []string{"price"}},
		{"auto besides", []plan.RegionPattern{{Span: "query"}, {Auto: 1}}, []string{"query", "price"}},
		{"auto twice", []plan.RegionPattern{{Auto: 1}, {Auto: 1, Scope: "db"}}, []string{"query", "commit"}},
		{"a root only if it is named", []plan.RegionPattern{{Span: "GET*"}, {Auto: 64}}, []string{"GET /", "query", "price", "commit"}},
	} {
		var got []string
		for _, k := range PickRegions(tt.patterns, seen) {
			got = append(got, k.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: regions differ, -want +got:\n%s", tt.name, diff)
		}
	}
	var many []Candidate
	for i := range 100 {
		many = append(many, Candidate{key("", string(rune('a'+i))), 1, false})
	}
	if got := PickRegions([]plan.RegionPattern{{Span: "*"}}, many); len(got) != design.MaxRegions {
		t.Errorf("%d regions of 100, want %d", len(got), design.MaxRegions)
	}
}
