package causal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/causal/replay"
	"github.com/otelprof/otelprof/spans"
)

func TestReplayedToCurves(t *testing.T) {
	pay := replay.Region{Scope: "shop", Name: "pay"}
	r := &replayed{began: time.Unix(1, 0), result: replay.Result{Windows: 6, Inferred: true, Answers: []replay.Answer{
		{Region: pay, Speedup: 0.25, Point: "order", Metric: replay.Throughput, Base: 2e6, Reduction: 0.2, StdErr: 0.01, Lo: 0.17, Hi: 0.23, Samples: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
		{Region: pay, Speedup: 0.5, Point: "order", Metric: replay.Throughput, Withheld: replay.WithheldStuck},
		{Region: pay, Speedup: 0.25, Point: "order", Metric: replay.LatencyP99, Base: 9e6, Reduction: 0.1, Lo: 0.05, Hi: 0.15, Samples: []float64{0.1}},
		{Region: pay, Speedup: 0.25, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldWindows, Windows: 3, Samples: []float64{0.1}},
		{Region: pay, Speedup: 0.5, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldDeviation},
		{Region: pay, Speedup: 0.75, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldVisits},
	}}}
	var p Profile
	r.addTo(&p)
	region := RegionKey{Scope: "shop", Span: "pay"}
	want := []Curve{
		{Mode: ModeReplay, Region: region, Progress: "order", Metric: MetricThroughput, BasePeriod: 2 * time.Millisecond, Effects: []Effect{
			{Speedup: 0.25, Reduction: 0.2, StdErr: 0.01, Lo: 0.17, Hi: 0.23, ThroughputGain: 0.25, Samples: 6, Reductions: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
			{Speedup: 0.5, Withheld: "simulated, the program came to where nothing could go on"},
		}},
		{Mode: ModeReplay, Region: region, Progress: "order", Metric: MetricLatencyP99, BasePeriod: 9 * time.Millisecond, Effects: []Effect{
			{Speedup: 0.25, Reduction: 0.1, Lo: 0.05, Hi: 0.15, Samples: 1, Reductions: []float64{0.1}},
		}},
		{Mode: ModeReplay, Region: region, Progress: "report", Metric: MetricThroughput, Effects: []Effect{
			{Speedup: 0.25, Samples: 1, Withheld: "3 recorded windows measured, 5 are needed"},
			{Speedup: 0.5, Withheld: "simulated with nothing changed, the program is not within 3 % of what was recorded"},
			{Speedup: 0.75, Withheld: "too few visits of the progress point in most recordings"},
		}},
	}
	if diff := cmp.Diff(want, p.Curves, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if len(p.Notes) != 1 || p.Started != time.Unix(1, 0) {
		t.Errorf("notes %q, started %v: want a note that objects are inferred, and when it began", p.Notes, p.Started)
	}
	if err := p.validate(); err != nil {
		t.Error(err)
	}
}

// TestReplayOfAProgram records a program with a lock five times: half of the time is in the region.
func TestReplayOfAProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tp := spans.Wrap(noop.NewTracerProvider(), spans.WithHook(c.Hook()))
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
				time.Sleep(2 * time.Millisecond)
				pay.End()
				time.Sleep(2 * time.Millisecond)
				mu.Unlock()
				Progress(ctx, "order")
			}
		})
	}
	for range replay.LeastWindows {
		if err := c.Record(t.Context(), 700*time.Millisecond); errors.Is(err, ErrTraced) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, curve := range c.Profile().Curves {
		if curve.Mode != ModeReplay || curve.Region.Span != "pay" || curve.Progress != "order" || !curve.ofThroughput() {
			continue
		}
		for _, e := range curve.Effects {
			if e.Speedup != 0.5 {
				continue
			}
			t.Logf("%s: %s, %s", curve.Verdict, e.interval(), e.Withheld)
			if e.Withheld == "" && (e.Reduction < 0.15 || e.Reduction > 0.35) {
				t.Errorf("pay is half of the time under a lock: 50 %% faster gives %s, want 25", e.interval())
			}
			if e.Withheld != "" && !strings.HasPrefix(e.Withheld, "simulated") {
				t.Errorf("withheld: %s", e.Withheld)
			}
			return
		}
	}
	t.Errorf("no curve of pay and order: %+v", c.Profile().Curves)
}
