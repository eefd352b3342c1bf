package beside

import (
	"context"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	pprof "github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal/profile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestByFunction(t *testing.T) {
	at := func(names ...string) (stack []*pprof.Location) {
		for _, name := range names {
			stack = append(stack, &pprof.Location{Line: []pprof.Line{{Function: &pprof.Function{Name: name}}}})
		}
		return stack
	}
	got, err := byFunction(&pprof.Profile{Sample: []*pprof.Sample{
		{Value: []int64{3, 30}, Location: at("main.leaf", "main.root", "runtime.goexit")},
		{Value: []int64{5, 50}, Location: at("main.root", "main.root.func1", "main.root")}, // recursive
		{Value: []int64{2, 20}, Location: at("runtime.mcall")},
	}}, "main.")
	want := CPU{Total: 100, Part: []Function{{"root", 0.8}, {"leaf", 0.3}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
		t.Errorf("byFunction = %v, -want +got:\n%s", err, diff)
	}
	if got.Share("leaf") != 0.3 || got.Share("none") != 0 {
		t.Errorf("Share(leaf) = %v, Share(none) = %v; want 0.3 and 0", got.Share("leaf"), got.Share("none"))
	}
	if _, err := byFunction(&pprof.Profile{}, "main."); err == nil {
		t.Error("byFunction of nothing = nil, want an error")
	}
}

func TestPackageOf(t *testing.T) {
	if got, want := packageOf(TestPackageOf), "github.com/otelprof/otelprof/examples/internal/beside."; got != want {
		t.Errorf("packageOf = %q, want %q", got, want)
	}
}

func TestPredicted(t *testing.T) {
	p := Program{Unit: "block", Region: "select"}
	prof := profile.Profile{Curves: []profile.Curve{{
		Mode: profile.ModeReplay, Region: profile.Region{Name: "select"}, Progress: "block", Metric: profile.MetricThroughput,
		Effects: []profile.Effect{
			{Speedup: 0.2, Reduction: 0.1, Lo: 0.08, Hi: 0.12},
			{Speedup: 0.4, Reduction: 0.3, Lo: 0.26, Hi: 0.34},
		},
	}, {
		Mode: profile.ModeDilation, Region: profile.Region{Name: "select"}, Progress: "block", Metric: profile.MetricThroughput,
		Effects: []profile.Effect{{Speedup: 0.4, Reduction: 0.2, Lo: 0.1, Hi: 0.25}},
	}}}
	for speedup, want := range map[float64][3]float64{
		0.1: {0.05, 0.04, 0.06},
		0.2: {0.1, 0.08, 0.12},
		0.3: {0.2, 0.17, 0.23},
		0.4: {0.3, 0.26, 0.34},
	} {
		e, reason := p.Predicted(prof, profile.ModeReplay, speedup)
		if diff := cmp.Diff(want, [3]float64{e.Reduction, e.Lo, e.Hi}, cmpopts.EquateApprox(0, 1e-9)); diff != "" || reason != "" {
			t.Errorf("Predicted(%v): %q, -want +got:\n%s", speedup, reason, diff)
		}
	}
	if _, reason := p.Predicted(prof, profile.ModeReplay, 0.5); !strings.Contains(reason, "40 %") {
		t.Errorf("Predicted(0.5): reason %q, want that 40 %% is the largest", reason)
	}
	if _, reason := p.Predicted(profile.Profile{}, profile.ModeReplay, 0.5); reason == "" {
		t.Error("Predicted of an empty profile: no reason")
	}
	// What was gained is held against each mode.
	var out strings.Builder
	Gain{Speedup: 0.4, Reduction: 0.31, Lo: 0.3, Hi: 0.32}.write(&out, p, prof)
	for _, want := range []string{
		"foretold 30.0 % (26.0 .. 34.0) by replay: what was gained is within the interval",
		"foretold 20.0 % (10.0 .. 25.0) by dilation: what was gained is 6.0 points above the interval",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}

func TestVerdict(t *testing.T) {
	e := profile.Effect{Lo: 0.3, Hi: 0.4}
	for _, tc := range []struct {
		gain Gain
		want string
	}{
		{Gain{Reduction: 0.35, Lo: 0.2, Hi: 0.5}, "what was gained is within the interval"},
		{Gain{Reduction: 0.29, Lo: 0.2, Hi: 0.31}, "what was gained in single turns is within the interval"},
		{Gain{Reduction: 0.25, Lo: 0.2, Hi: 0.28}, "what was gained is 5.0 points below the interval"},
		{Gain{Reduction: 0.5, Lo: 0.45, Hi: 0.6}, "what was gained is 10.0 points above the interval"},
	} {
		if got := tc.gain.verdict(e); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.gain, got, tc.want)
		}
	}
}

func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Program{Unit: "unit", Region: "work", Run: func(ctx context.Context, tracer trace.Tracer, optimized bool) {
			for ctx.Err() == nil {
				in, unit := tracer.Start(ctx, "unit")
				_, work := tracer.Start(in, "work")
				time.Sleep(40 * time.Millisecond)
				if !optimized {
					time.Sleep(40 * time.Millisecond)
				}
				work.End()
				unit.End()
			}
		}}
		g, err := p.Compare(t.Context(), 2, 400*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(g.Speedup-0.5) > 0.01 || math.Abs(g.Reduction-0.5) > 0.01 {
			t.Errorf("Compare = %+v, want half", g)
		}
	})
}

// A controller whose experiment cannot begin leaves no goroutine behind.
func TestBeginNothing(t *testing.T) {
	c, err := permitted()
	if err != nil {
		t.Fatal(err)
	}
	if err := (Program{}).begin(t.Context(), c, profile.ModeOverlap, time.Minute); err == nil {
		t.Error("an experiment of no region has begun, want an error")
	}
	goleak.VerifyNone(t)
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-for", "1s"}, {"surplus"}, {"-none"}} {
		if err := (Program{}).run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("run(%q) = nil, want an error", args)
		}
	}
}
