package causal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/spans"
)

// renamed runs a span that is started with one name and ends with another.
func renamed(tr trace.Tracer, first, last string, during func(context.Context, *spans.Span)) *spans.Span {
	ctx, s := tr.Start(context.Background(), first)
	r := spans.SpanFromContext(ctx)
	if during != nil {
		during(ctx, r)
	}
	if first != last {
		s.SetName(last)
	}
	s.End()
	return r
}

// TestRenamedSpanIsKnownByBothNames: plans select it, visit progress points and spare it by either.
func TestRenamedSpanIsKnownByBothNames(t *testing.T) {
	for _, tt := range []struct{ region, progress, want string }{
		{"RN1 /orders/{id}", "RN1 /orders/{id}", "RN1 /orders/{id}"},
		{"RN1", "RN1", "RN1"},
		{"RN1*", "*", "RN1 /orders/{id}"}, // by both: the last is meant
	} {
		c := newController(t, unloaded)
		r := force(t, c, mustParse(t, idle, calm, fmt.Sprintf("regions: [{span: %q}]", tt.region), fmt.Sprintf("progress: [{span: %q, type: throughput}]", tt.progress)))
		tr := newProvider(t, c).Tracer("renamed")
		for range 3 {
			renamed(tr, "RN1", "RN1 /orders/{id}", nil)
		}
		if got := r.Seen(); len(got) != 1 || got[0].Name != tt.want {
			t.Errorf("region %q: selected %v, want %q", tt.region, got, tt.want)
		}
		if n := r.Progress[0].Latest().Count; n != 3 {
			t.Errorf("progress %q: %d visits, want 3", tt.progress, n)
		}
		notes := strings.Join(r.Profile(func() {}).Notes, "\n")
		if want := fmt.Sprintf("region %q: ", tt.want); !strings.Contains(notes, want) {
			t.Errorf("region %q: notes %q, want one that says which is meant", tt.region, notes)
		}
	}
}

var runsOfOpenSpan atomic.Int64

// TestOpenSpanIsTakenForWhatItWillBe: as long as all that are started alike end alike, an open one
// is known by that name.
func TestOpenSpanIsTakenForWhatItWillBe(t *testing.T) {
	// What is known of a name stays so until the process ends.
	name := fmt.Sprintf("RN2 of run %d", runsOfOpenSpan.Add(1))
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, calm, fmt.Sprintf("regions: [{span: %q}]", name+" /a")))
	tr := newProvider(t, c).Tracer("renamed")
	open := func() (region int) {
		renamed(tr, name, name+" /a", func(_ context.Context, s *spans.Span) { region = r.Verdict(s).Region })
		return region
	}
	if got := open(); got != engine.NoRegion {
		t.Errorf("the first is region %d while it is open, want that this is not known", got)
	}
	if got := open(); got != 0 {
		t.Errorf("the second is region %d while it is open, want 0", got)
	}
	renamed(tr, name, name+" /b", nil)
	if got := open(); got != engine.NoRegion {
		t.Errorf("where others end otherwise, it is region %d while it is open, want that this is not known", got)
	}
	region := classes.Intern(profile.Region{Scope: "renamed", Name: name + " /a"})
	if !region.Unforeseen.Load() || region.Begins(classes.Intern(profile.Region{Scope: "renamed", Name: name})) {
		t.Error("the region is taken for foreseen")
	}
}

// TestLatencyOfRenamedSpans is recorded by the name that they end with.
func TestLatencyOfRenamedSpans(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, calm, "mode: overlap", `regions: [{span: "RN3 part"}]`, `progress: [{span: "RN3 /a", type: latency}]`))
	tr := newProvider(t, c).Tracer("renamed")
	work := func() {
		for i, name := range []string{"RN3 /a", "RN3 /b", "RN3 /a"} {
			renamed(tr, "RN3", name, func(ctx context.Context, _ *spans.Span) {
				_, s := tr.Start(ctx, "RN3 part")
				time.Sleep(time.Duration(i) * time.Millisecond)
				s.End()
			})
		}
	}
	work()
	o, err := r.NewOverlap(experiment.Arm{Speedup: 0, Spared: 0})
	if err != nil {
		t.Fatal(err)
	}
	virtualtime.Observe(r, o.Observation)
	r.Put(o)
	work()
	r.Rest()
	if s := o.Latencies()[0]; s == nil || s.Count() != 2 {
		t.Errorf("latency of %v spans, want 2", s)
	}
}

// TestRenamedRegionSaves: what turns out to be of the region at its end saves the program what it
// would have all along.
func TestRenamedRegionSaves(t *testing.T) {
	for _, names := range [][2]string{{"RN4 /a", "RN4 /a"}, {"RN4", "RN4 /a"}} {
		c := newController(t, unloaded)
		r := force(t, c, mustParse(t, idle, calm, wideLimits, "mode: overlap", `regions: [{span: "RN4 /a"}]`))
		tr := newProvider(t, c).Tracer("renamed")
		renamed(tr, names[0], names[1], nil)
		o, err := r.NewOverlap(experiment.Arm{Speedup: 0.5, Spared: 0})
		if err != nil {
			t.Fatal(err)
		}
		virtualtime.Observe(r, o.Observation)
		r.Put(o)
		var took time.Duration
		for range 3 {
			took += renamed(tr, names[0], names[1], func(context.Context, *spans.Span) { time.Sleep(10 * time.Millisecond) }).Duration()
		}
		growth := time.Duration(o.GrowthAt(clock.Now()))
		r.Rest()
		if off := (growth - took/2).Abs(); off > took/20 {
			t.Errorf("started as %q: growth %v in %v, want half of it", names[0], growth, took)
		}
		e := experiment.Experiment{}
		o.Look(&e)
		if e.Ends != 3 || e.Took < took*9/10 {
			t.Errorf("started as %q: %d ends, %v, want 3 of %v", names[0], e.Ends, e.Took, took)
		}
	}
}

// TestRegionThatDidNotRunHasNoNumber, nor one that did not save anything, nor where other work was
// counted.
func TestRegionThatDidNotRunHasNoNumber(t *testing.T) {
	good := experiment.Evidence{Arms: 10, Ends: 50, Took: 10 * time.Second, Elapsed: 20 * time.Second, Growth: 4 * time.Second, Speedup: 0.5, Visits: 100}
	for _, tt := range []struct {
		name   string
		change func(*experiment.Evidence)
		want   profile.Withheld
	}{
		{"all is well", func(*experiment.Evidence) {}, profile.Withheld{}},
		{"no end", func(v *experiment.Evidence) { v.Ends = 0 }, profile.Withheld{Code: withheldcode.NoSpans}},
		{"few ends", func(v *experiment.Evidence) { v.Ends = 49 }, profile.Withheld{Code: withheldcode.FewSpans, Count: 49, Of: 10, Need: 5}},
		{"it is not known", func(v *experiment.Evidence) { v.Ends = -1 }, profile.Withheld{}},
		{"no growth", func(v *experiment.Evidence) { v.Growth = 40 * time.Millisecond }, profile.Withheld{Code: withheldcode.Elsewhere, Took: 10 * time.Second, Saved: 40 * time.Millisecond, Elapsed: 20 * time.Second}},
		{"little growth", func(v *experiment.Evidence) { v.Growth = 60 * time.Millisecond }, profile.Withheld{}},
		{"another path", func(v *experiment.Evidence) { v.Strays = 0.25 }, profile.Withheld{Code: withheldcode.OtherPath, Part: 0.25}},
		{"unforeseen", func(v *experiment.Evidence) { v.StartAs = "GET" }, profile.Withheld{Code: withheldcode.StartedAs, Name: "GET"}},
	} {
		v := good
		tt.change(&v)
		if got := v.Withheld(); got != tt.want {
			t.Errorf("%s: withheld() = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestProgressPointOnAnotherPath: what comes on each path is counted, and other shares than without
// delay are found.
func TestProgressPointOnAnotherPath(t *testing.T) {
	c := newController(t, unloaded)
	r := force(t, c, mustParse(t, idle, calm, `progress: [{span: "RN5*", type: throughput}]`))
	tr := newProvider(t, c).Tracer("renamed")
	for i := range 10 {
		renamed(tr, "RN5", []string{"RN5 /a", "RN5 /b"}[min(i/7, 1)], nil)
	}
	Progress(t.Context(), "RN5 done")
	if diff := cmp.Diff([experiment.MostPaths]uint32{1, 7, 3}, r.Ways()[0]); diff != "" {
		t.Errorf("visits by path differ, -want +got:\n%s", diff)
	}
	sum := func(visits ...uint32) (s experiment.PathSum) {
		var c [experiment.MostPaths]uint32
		copy(c[:], visits)
		s.Add(c)
		return s
	}
	for _, tt := range []struct {
		on, without experiment.PathSum
		want        float64
	}{
		{sum(1000), sum(1000), 0},
		{sum(500, 500), sum(5100, 4900), 0},
		{sum(500, 500), sum(10000), 0.5},
		{sum(0, 1000), sum(10000), 1},
		{sum(3, 2), sum(7, 3), 0}, // chance
		{sum(), sum(7, 3), 0},
	} {
		if got := tt.on.Strays(tt.without); got != tt.want {
			t.Errorf("strays of %v from %v = %g, want %g", tt.on, tt.without, got, tt.want)
		}
	}
	var p experiment.Paths
	for i := range 2 * experiment.MostPaths {
		if got := p.Number(fmt.Sprint(i)); got != min(i, experiment.MostPaths-1) {
			t.Errorf("path %d has number %d", i, got)
		}
	}
	if !slices.Contains(p.Known, "3") || p.Number("3") != 3 {
		t.Error("a path that is known has another number")
	}
}
