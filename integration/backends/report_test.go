package backends

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/otelhdr"
)

// knownProfile is one of two modes, four regions and three metrics, with nothing that metrics do
// not have.
func knownProfile(t testing.TB) profile.Profile {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	base := 20 * time.Millisecond
	latencies, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	for range 10000 {
		latencies.Record(uint64(float64(base) * math.Exp(random.NormFloat64()/4)))
	}
	p := profile.Profile{PlanID: "0123456789ab", PlanHash: "0123456789abcdef", Mode: profile.ModeOverlap}
	for _, mode := range []profile.Mode{profile.ModeOverlap, profile.ModeReplay} {
		p.Tallies = append(p.Tallies, profile.Tally{Mode: mode, Progress: "checkout", Visits: 1000, Effective: 1000 * base, Latency: latencies.Snapshot(nil)})
		for _, span := range []string{"price", "pay", "SELECT inventory", "Größe/{id}"} {
			region := profile.Region{Scope: "shop", Name: span}
			for _, metric := range []profile.Metric{profile.MetricThroughput, profile.MetricLatencyP50, profile.MetricLatencyP99} {
				c := profile.Curve{Mode: mode, Region: region, Progress: "checkout", Metric: metric, BasePeriod: base}
				if metric != profile.MetricThroughput {
					q := map[profile.Metric]float64{profile.MetricLatencyP50: 50, profile.MetricLatencyP99: 99}[metric]
					c.BasePeriod = time.Duration(latencies.Snapshot(nil).Percentile(q))
				}
				for _, speedup := range []float64{0.1, 0.25, 0.5} {
					r, half := speedup*random.Float64(), 0.01+0.02*random.Float64()
					e := profile.Effect{Speedup: speedup, Reduction: r, Lo: r - half, Hi: r + half}
					if metric == profile.MetricThroughput {
						e.ThroughputGain = 1/(1-r) - 1
					}
					c.Effects = append(c.Effects, e)
				}
				p.Curves = append(p.Curves, c)
			}
			for _, speedup := range []float64{0.1, 0.25, 0.5} {
				tally := profile.Tally{Mode: mode, Region: region, Speedup: speedup, Progress: "checkout", Visits: 100 + random.Uint64N(900), Effective: time.Duration(random.Int64N(1e10)) * 1000}
				if mode == profile.ModeOverlap {
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
func read(t testing.TB, p profile.Profile) profile.Profile {
	t.Helper()
	var text bytes.Buffer
	if err := p.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Read(&text)
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
	exporter, err := otlp.NewMetricExporter(t.Context(), env.Metrics, nil)
	if err != nil {
		t.Fatal(err)
	}
	known.Started = time.Now().Add(-time.Minute)
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithResource(resource.NewSchemaless(semconv.ServiceName("known"), semconv.ServiceInstanceID("one"))),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(profile.NewProducer(func() profile.Profile { return known })))))
	if err := provider.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.prometheus.complete(t, `otelprof_causal_latency_seconds{otelprof_causal_mode="replay"}`, 10000)

	got := reportOf(t, "-prometheus", "http://"+s.prometheus.address)
	want := read(t, known)
	near := cmp.Options{
		cmpopts.IgnoreFields(profile.Profile{}, "Started", "Notes"),
		// Of an effect everything is equal; the quantile of latency that it is part of is one of
		// buckets.
		cmp.Comparer(func(a, b time.Duration) bool { return math.Abs(float64(a-b)) <= quantileError*float64(a) }),
		cmpopts.SortSlices(func(a, b profile.Tally) bool {
			return a.Mode < b.Mode || a.Mode == b.Mode && (a.Region.Name < b.Region.Name || a.Region.Name == b.Region.Name && a.Speedup < b.Speedup)
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
