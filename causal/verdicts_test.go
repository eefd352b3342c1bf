package causal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// Any number of names have the verdict that the patterns give them, also those that share a place.
func TestVerdictsOfManyNames(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, `regions: [{span: "query *"}]`, `progress: [{span: "GET *", type: throughput}, {span: "* 7", type: throughput}]`, calm))
	tr := newProvider(t, c, spans.WithMaxRegions(10)).Tracer("many")
	check := func(name string, want engine.Verdict) {
		t.Helper()
		ctx, s := tr.Start(context.Background(), name)
		s.End()
		got := r.Verdict(spans.SpanFromContext(ctx))
		if got.Region != want.Region || fmt.Sprint(got.Progress) != fmt.Sprint(want.Progress) || got.Exempt != want.Exempt {
			t.Errorf("verdict of %q = %+v, want %+v", name, got, want)
		}
	}
	for range 2 {
		for i := range thorough.Of(20_000, 8_000) {
			check(fmt.Sprint("GET /users/", i), engine.Verdict{Region: engine.NoRegion, Progress: []int{0}})
		}
		for i := range 2 * design.MaxRegions {
			check(fmt.Sprint("query q", i), engine.Verdict{Region: map[bool]int{true: i, false: engine.NoRegion}[i < design.MaxRegions]})
		}
		check("GET /users/0/ 7", engine.Verdict{Region: engine.NoRegion, Progress: []int{0, 1}})
		check("GET /healthz", engine.Verdict{Region: engine.NoRegion, Progress: []int{0}, Exempt: true})
	}
}

// While there is nothing to pick, verdicts are kept.
func TestVerdictsWhileNothingIsPicked(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, `regions: [{auto: 2, scope: many}]`, calm))
	before := r.Verdicts.Load()
	if arms := r.Round([]float64{0.5}, rand.New(rand.NewPCG(1, 1))); len(arms) != 0 || r.Verdicts.Load() != before {
		t.Errorf("%d arms, and the verdicts are others: %v, want neither", len(arms), r.Verdicts.Load() != before)
	}
	tr := newProvider(t, c).Tracer("many")
	ctx, root := tr.Start(context.Background(), "root", startedAgo(2*ms))
	_, s := tr.Start(ctx, "picked", startedAgo(ms))
	s.End()
	root.End()
	if arms := r.Round([]float64{0.5}, rand.New(rand.NewPCG(1, 1))); len(arms) == 0 || r.Verdicts.Load() == before {
		t.Errorf("%d arms, and the verdicts are others: %v, want both", len(arms), r.Verdicts.Load() != before)
	}
}

func TestVerdictsConcurrentSafe(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, `regions: [{span: "*"}]`, calm))
	tr := newProvider(t, c).Tracer("many")
	var wg sync.WaitGroup
	numbers := [4][100]int{}
	for g := range numbers {
		wg.Go(func() {
			for i := range 100 {
				ctx, s := tr.Start(context.Background(), fmt.Sprint("name ", i))
				s.End()
				numbers[g][i] = r.Verdict(spans.SpanFromContext(ctx)).Region
			}
		})
	}
	wg.Wait()
	for g := range numbers {
		if numbers[g] != numbers[0] {
			t.Errorf("goroutines have different numbers for the regions: %v and %v", numbers[g], numbers[0])
		}
	}
}

func TestVerdictAllocs(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, calm))
	ctx, s := newProvider(t, c).Tracer("known").Start(context.Background(), "known")
	defer s.End()
	region := spans.SpanFromContext(ctx)
	if n := testing.AllocsPerRun(100, func() { r.Verdict(region) }); n != 0 {
		t.Errorf("verdict allocates %v times, want 0", n)
	}
}

// What a plan's look at a span costs, by how many names there are.
func BenchmarkVerdict(b *testing.B) {
	for _, names := range []int{1, 2000, 100_000} {
		b.Run(fmt.Sprintf("names=%d", names), func(b *testing.B) {
			c := newController(b, unloaded)
			p := mustParse(b, idle, calm)
			if err := c.Apply(p); err != nil {
				b.Fatal(err)
			}
			r := c.run.Load()
			tr := newProvider(b, c).Tracer("many")
			regions := make([]*spans.Span, names)
			for i := range regions {
				ctx, _ := tr.Start(context.Background(), fmt.Sprint("GET /orders/", i))
				regions[i] = spans.SpanFromContext(ctx)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.Verdict(regions[i])
				if i++; i == names {
					i = 0
				}
			}
		})
	}
}
