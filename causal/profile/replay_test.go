package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelprof/otelprof/causal/replay"
)

func TestAddReplay(t *testing.T) {
	pay := replay.Region{Scope: "shop", Name: "pay"}
	result := replay.Result{Windows: 6, Inferred: true, Answers: []replay.Answer{
		{Region: pay, Speedup: 0.25, Point: "order", Metric: replay.Throughput, Base: 2e6, Reduction: 0.2, StdErr: 0.01, Lo: 0.17, Hi: 0.23, Samples: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
		{Region: pay, Speedup: 0.5, Point: "order", Metric: replay.Throughput, Withheld: replay.WithheldStuck},
		{Region: pay, Speedup: 0.25, Point: "order", Metric: replay.LatencyP99, Base: 9e6, Reduction: 0.1, Lo: 0.05, Hi: 0.15, Samples: []float64{0.1}},
		{Region: pay, Speedup: 0.25, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldWindows, Windows: 3, Samples: []float64{0.1}},
		{Region: pay, Speedup: 0.5, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldDeviation},
		{Region: pay, Speedup: 0.75, Point: "report", Metric: replay.Throughput, Withheld: replay.WithheldVisits},
	}}
	var p Profile
	p.AddReplay(&result)
	region := Region{Scope: "shop", Name: "pay"}
	want := []Curve{
		{Mode: ModeReplay, Region: region, Progress: "order", Metric: MetricThroughput, BasePeriod: 2 * time.Millisecond, Effects: []Effect{
			{Speedup: 0.25, Reduction: 0.2, StdErr: 0.01, Lo: 0.17, Hi: 0.23, ThroughputGain: 0.25, Samples: 6, Reductions: []float64{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}},
			{Speedup: 0.5, Withheld: Withheld{Code: WithheldStuck}},
		}},
		{Mode: ModeReplay, Region: region, Progress: "order", Metric: MetricLatencyP99, BasePeriod: 9 * time.Millisecond, Effects: []Effect{
			{Speedup: 0.25, Reduction: 0.1, Lo: 0.05, Hi: 0.15, Samples: 1, Reductions: []float64{0.1}},
		}},
		{Mode: ModeReplay, Region: region, Progress: "report", Metric: MetricThroughput, Effects: []Effect{
			{Speedup: 0.25, Samples: 1, Withheld: Withheld{Code: WithheldWindows, Count: 3, Need: 5}},
			{Speedup: 0.5, Withheld: Withheld{Code: WithheldDeviation, Part: 0.03}},
			{Speedup: 0.75, Withheld: Withheld{Code: WithheldVisits}},
		}},
	}
	if diff := cmp.Diff(want, p.Curves, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if len(p.Notes) != 1 {
		t.Errorf("notes %q: want one that objects are inferred", p.Notes)
	}
	if err := p.validate(); err != nil {
		t.Error(err)
	}
}
