package backends

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter/otlp"
	"github.com/otelprof/otelprof/otelhdr"
)

// knownProfile is one of two modes, four regions and three metrics, with nothing that metrics do not tell.
func knownProfile(t testing.TB) causal.Profile {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	base := 20 * time.Millisecond
	latencies, err := otelhdr.New()
	if err != nil {
		t.Fatal(err)
	}
	for range 10000 {
		latencies.Record(uint64(float64(base) * math.Exp(random.NormFloat64()/4)))
	}
	p := causal.Profile{PlanID: "0123456789ab", PlanHash: "0123456789abcdef", Mode: causal.ModeOverlap}
	for _, mode := range []causal.Mode{causal.ModeOverlap, causal.ModeReplay} {
		p.Tallies = append(p.Tallies, causal.Tally{Mode: mode, Progress: "checkout", Visits: 1000, Effective: 1000 * base, Latency: latencies.Snapshot(nil)})
		for _, span := range []string{"price", "pay", "SELECT inventory", "Größe/{id}"} {
			region := causal.RegionKey{Scope: "shop", Span: span}
			for _, metric := range []causal.Metric{causal.MetricThroughput, causal.MetricLatencyP50, causal.MetricLatencyP99} {
				c := causal.Curve{Mode: mode, Region: region, Progress: "checkout", Metric: metric, BasePeriod: base}
				if metric != causal.MetricThroughput {
					q := map[causal.Metric]float64{causal.MetricLatencyP50: 50, causal.MetricLatencyP99: 99}[metric]
					c.BasePeriod = time.Duration(latencies.Snapshot(nil).Percentile(q))
				}
				for _, speedup := range []float64{0.1, 0.25, 0.5} {
					r, half := speedup*random.Float64(), 0.01+0.02*random.Float64()
					e := causal.Effect{Speedup: speedup, Reduction: r, Lo: r - half, Hi: r + half}
					if metric == causal.MetricThroughput {
						e.ThroughputGain = 1/(1-r) - 1
					}
					c.Effects = append(c.Effects, e)
				}
				p.Curves = append(p.Curves, c)
			}
			for _, speedup := range []float64{0.1, 0.25, 0.5} {
				tally := causal.Tally{Mode: mode, Region: region, Speedup: speedup, Progress: "checkout", Visits: 100 + random.Uint64N(900), Effective: time.Duration(random.Int64N(1e10)) * 1000}
				if mode == causal.ModeOverlap {
					tally.Delay = time.Duration(random.Int64N(1e9))
					p.Delay += tally.Delay
				}
				p.Tallies = append(p.Tallies, tally)
			}
		}
	}
	return p
}

// read brings a profile into the order and to the conclusions of every saved one.
func read(t testing.TB, p causal.Profile) causal.Profile {
	t.Helper()
	var text bytes.Buffer
	if err := p.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	p, err := causal.ReadProfile(&text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReport sends a profile that is known to Prometheus, and lets the CLI get it back.
func TestReport(t *testing.T) {
	s := newStack(t, nil)
	known := knownProfile(t)
	for _, e := range s.exporting() {
		key, value, _ := strings.Cut(e, "=")
		t.Setenv(key, value)
	}
	env, err := otlp.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	exporter, err := otlp.NewMetricExporter(t.Context(), env.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	known.Started = time.Now().Add(-time.Minute)
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithResource(resource.NewSchemaless(semconv.ServiceName("known"), semconv.ServiceInstanceID("one"))),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(causal.NewProducer(func() causal.Profile { return known })))))
	if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.prometheus.complete(t, `otelprof_causal_latency_seconds{otelprof_causal_mode="replay"}`, 10000)

	out, err := exec.CommandContext(t.Context(), ours(t, "otelprof"), "report", "-prometheus", "http://"+s.prometheus.address, "-format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := causal.ReadProfile(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	want := read(t, known)
	near := cmp.Options{
		cmpopts.IgnoreFields(causal.Profile{}, "Started", "Notes"),
		// Of an effect everything is equal; the quantile of latency that it is part of is one of buckets.
		cmp.Comparer(func(a, b time.Duration) bool { return math.Abs(float64(a-b)) <= quantileError*float64(a) }),
		cmpopts.SortSlices(func(a, b causal.Tally) bool {
			return a.Mode < b.Mode || a.Mode == b.Mode && (a.Region.Span < b.Region.Span || a.Region.Span == b.Region.Span && a.Speedup < b.Speedup)
		}),
	}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("profile that was exported (-) and profile from Prometheus (+):\n%s", diff)
	}
	effects := 0
	for _, c := range got.Curves {
		effects += len(c.Effects)
	}
	check(t, "report_prometheus", "figure=%d effects and %d tallies of %d curves have come back equal", effects, len(got.Tallies), len(got.Curves))
}
