package replayprofile

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/naming/withheldcode"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

func TestAdd(t *testing.T) {
	pay := trace.Region{Scope: "shop", Name: "pay"}
	result := replay.Result{Windows: 6, Inferred: true, Answers: []replay.Answer{
		{Region: pay, Speedup: 0.25, Point: "order", Metric: replay.Throughput, Base: 2e6, Reduction: 0.2, StdErr: 0.01, Lo: 0.17, Hi: 0.23, Samples: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
		{Region: pay, Speedup: 0.5, Point: "order", Metric: replay.Throughput, Withheld: replay.WithheldStuck},
		{Region: pay, Speedup: 0.25, Point: "order", Metric: replay.LatencyP99, Base: 9e6, Reduction: 0.1, Lo: 0.05, Hi: 0.15, Samples: []float64{0.1}},
		{Region: pay, Speedup: 0.25, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldWindows, Windows: 1},
		{Region: pay, Speedup: 0.5, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldDeviation, Windows: 4, Missed: 3, Deviation: 0.7},
		{Region: pay, Speedup: 0.75, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldVisits},
		{Region: pay, Speedup: 0.95, Point: "report", Metric: replay.Throughput, Base: 2e6, Reduction: 0.2, Lo: 0, Hi: 0.95, Bounded: true, Samples: []float64{0.2, 0.2}, Doubt: replay.WithheldPauses},
	}}
	var p profile.Profile
	Add(&p, &result)
	region := profile.Region{Scope: "shop", Name: "pay"}
	want := []profile.Curve{
		{Mode: profile.ModeReplay, Region: region, Progress: "order", Metric: profile.MetricThroughput, BasePeriod: 2 * time.Millisecond, Effects: []profile.Effect{
			{Speedup: 0.25, Reduction: 0.2, StdErr: 0.01, Lo: 0.17, Hi: 0.23, ThroughputGain: 0.25, Samples: 6, Reductions: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
			{Speedup: 0.5, Withheld: profile.Withheld{Code: withheldcode.Stuck}},
		}},
		{Mode: profile.ModeReplay, Region: region, Progress: "order", Metric: profile.MetricLatencyP99, BasePeriod: 9 * time.Millisecond, Effects: []profile.Effect{
			{Speedup: 0.25, Reduction: 0.1, Lo: 0.05, Hi: 0.15, Samples: 1, Reductions: []float64{0.1}},
		}},
		{Mode: profile.ModeReplay, Region: region, Progress: "report", Metric: profile.MetricThroughput, BasePeriod: 2 * time.Millisecond, Effects: []profile.Effect{
			{Speedup: 0.25, Withheld: profile.Withheld{Code: withheldcode.Windows, Count: 1, Need: 2}},
			{Speedup: 0.5, Withheld: profile.Withheld{Code: withheldcode.Deviation, Count: 3, Of: 4, Part: 0.7}},
			{Speedup: 0.75, Withheld: profile.Withheld{Code: withheldcode.Visits}},
			{Speedup: 0.95, Reduction: 0.2, Hi: 0.95, Bounded: true, ThroughputGain: 0.25, Samples: 2, Reductions: []float64{0.2, 0.2}, Warnings: []string{"wider, since some requests are longer by pauses, and whether there would be one is decided by time"}},
		}},
	}
	if diff := cmp.Diff(want, p.Curves, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if len(p.Notes) != 1 {
		t.Errorf("notes %q: want one that objects are inferred", p.Notes)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := profile.Read(bytes.NewReader(text)); err != nil {
		t.Error(err)
	}
}
