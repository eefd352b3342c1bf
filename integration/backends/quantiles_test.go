package backends

import (
	"fmt"
	"math"
	"testing"
)

// quantileError is the most that a quantile is off which is interpolated in buckets of scale 8:
// what the HDR histogram rounds, and a bucket, see docs/metrics.md.
var quantileError = 0.000977 + math.Exp2(1.0/256) - 1

func TestQuantiles(t *testing.T) {
	s := newStack(t, nil)
	for _, temporality := range []string{"cumulative", "delta"} {
		t.Run(temporality, func(t *testing.T) {
			a := newApp(t, temporality, s.exporting("OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="+temporality), "")
			for range 20 { // so that there are several deltas
				a.work(t, 1000)
				if err := a.TracerProvider().ForceFlush(t.Context()); err != nil { // the raw values have all arrived
					t.Fatal(err)
				}
			}
			a.shutdown(t)
			series := func(selector string) string {
				if temporality == "delta" {
					return "sum_over_time(" + selector + "[10m])"
				}
				return selector
			}
			latency := series(fmt.Sprintf(`app_latency_seconds{job=%q}`, temporality))
			region := func(name string) string {
				return series(fmt.Sprintf(`otelprof_region_duration_seconds{job=%q, otelprof_region_name=%q}`, temporality, name))
			}
			for _, of := range []struct {
				name, expression string
				values           []float64
			}{
				{"app.latency", latency, a.latencies},
				{"checkout", region("checkout"), a.raw.durations["checkout"]},
				{"price", region("price"), a.raw.durations["price"]},
			} {
				h := s.prometheus.complete(t, of.expression, len(of.values))
				var sum float64
				for _, v := range of.values {
					sum += v
				}
				if off := math.Abs(h.Sum/sum - 1); off > 1e-6 {
					t.Errorf("%s: sum %v, want %v", of.name, h.Sum, sum)
				}
				var worst float64
				for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
					got := s.prometheus.one(t, fmt.Sprintf("histogram_quantile(%v, %s)", q, of.expression)).Value
					low, high := exact(of.values, q)
					worst = max(worst, got/high-1, 1-got/low)
					if got < low*(1-quantileError) || got > high*(1+quantileError) {
						t.Errorf("%s: quantile %v is %v, want %v to %v, by at most %.2g more or less", of.name, q, got, low, high, quantileError)
					}
				}
				check(t, "quantiles_"+temporality, "figure=%.3f%% %s: the most that 5 quantiles of %d values are off, at most %.3f%% allowed", 100*worst, of.name, len(of.values), 100*quantileError)
			}
		})
	}
}
