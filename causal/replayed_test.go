package causal

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// TestReplayOfAProgram records a program with a lock five times: half of the time is in the region.
func TestReplayOfAProgram(t *testing.T) {
	c, err := NewController()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Shutdown(context.Background())
	tp := spans.WrapTracerProvider(noop.NewTracerProvider(), spans.WithHook(c.Hook()))
	defer func() { _ = tp.Shutdown(context.Background()) }()
	tr := tp.Tracer("shop")
	ctx, stop := context.WithCancel(t.Context())
	var wg WaitGroup
	defer wg.Wait()
	defer stop()
	var mu Mutex
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				_, pay := tr.Start(ctx, "pay")
				time.Sleep(ms)
				pay.End()
				time.Sleep(ms)
				mu.Unlock()
				Progress(ctx, "order")
			}
		})
	}
	for range doubt.LeastWindows {
		if err := c.Record(t.Context(), time.Duration(thorough.Of(700, 300))*ms); errors.Is(err, ErrTraced) {
			testutil.Lacks(t, "TRACE", err.Error())
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, curve := range c.Profile().Curves {
		if curve.Mode != profile.ModeReplay || curve.Region.Name != "pay" || curve.Progress != "order" || curve.Metric != profile.MetricThroughput {
			continue
		}
		for _, e := range curve.Effects {
			if e.Speedup != 0.5 {
				continue
			}
			t.Logf("%s: %+v", curve.Verdict, e)
			if e.Known() && (e.Hi < 0.15 || e.Lo > 0.35) { // on a busy machine it is wide
				t.Errorf("pay is half of the time under a lock: 50 %% faster gives %.1f .. %.1f %%, want 25", 100*e.Lo, 100*e.Hi)
			}
			if code := e.Withheld.Code; !e.Known() && !slices.Contains([]profile.WithheldCode{withheldcode.Deviation, withheldcode.Stuck, withheldcode.Slower}, code) {
				t.Errorf("withheld: %s", e.Withheld)
			}
			return
		}
	}
	t.Errorf("no curve of pay and order: %+v", c.Profile().Curves)
}

// Recordings of a program that is slowed down simulate just that, to be held against what it has
// cost.
func TestSlowDownsAreSimulated(t *testing.T) {
	c := newController(t)
	tr := newProvider(t, c).Tracer("shop")
	ctx, stop := context.WithCancel(t.Context())
	var wg WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		for ctx.Err() == nil {
			_, pay := tr.Start(ctx, "pay")
			time.Sleep(ms)
			pay.End()
			Progress(ctx, "order")
		}
	})
	record := func() (slopes []profile.Slope) {
		t.Helper()
		if err := c.Record(t.Context(), 300*ms); errors.Is(err, ErrTraced) {
			testutil.Lacks(t, "TRACE", err.Error())
		} else if err != nil {
			t.Fatal(err)
		}
		for _, curve := range c.Profile().Curves {
			if curve.Mode == profile.ModeReplay && curve.Region.Name == "pay" && curve.Metric == profile.MetricThroughput {
				slopes = curve.Slopes
			}
		}
		return slopes
	}
	if s := record(); len(s) > 0 {
		t.Errorf("%+v before there is a plan", s)
	}
	p := mustParse(t, "mode: slowdown", "progress: [{span: order, type: throughput}]", wideLimits, calm, `timing: {warmup: "100ms", experiment: "100ms", cooloff: "10ms"}`)
	if err := c.Apply(p); err != nil {
		t.Fatal(err)
	}
	if !testutil.Eventually(func() bool { return c.Profile().Experiments > 0 }) {
		t.Fatalf("no experiment: %+v", c.Status())
	}
	c.StopPlan("enough")
	for range 2 {
		record()
	}
	if s := record(); len(s) != 2 || s[0].Level != 0.1 || s[1].Level != 0.3 || s[1].Elasticity < 0.2 || s[1].Elasticity > 1.5 {
		t.Errorf("slow-downs of all of the time: %+v", s)
	}
}
