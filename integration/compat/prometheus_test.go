package compat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
)

// native is what must be the same of a native histogram.
type native struct {
	Count      uint64
	Sum        nearly
	Zero       uint64
	Positive   int64 // values in all buckets
	Negative   int64
	ZeroBounds float64
}

// nearly is equal to what differs by the rounding of values to nanoseconds.
type nearly float64

// Equal implements what go-cmp asks for.
func (a nearly) Equal(b nearly) bool {
	return math.Abs(float64(a-b)) <= 1e-9+1e-12*math.Abs(float64(a))
}

// scrape records on a provider with the Prometheus exporter, and returns the native histograms and
// the names and values of counters that the exporter's registry gives, twice.
func scrape(t *testing.T, ours bool) []map[string]any {
	t.Helper()
	registry := client.NewRegistry()
	producer := hdrmetric.NewProducer()
	exporter, err := prometheus.New(
		prometheus.WithRegisterer(registry),
		prometheus.WithProducer(producer),
		prometheus.WithAggregationSelector(func(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
			if k == sdkmetric.InstrumentKindHistogram {
				return sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
			}
			return sdkmetric.DefaultAggregationSelector(k)
		}))
	if err != nil {
		t.Fatal(err)
	}
	var provider metric.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	if ours {
		provider = hdrmetric.WrapMeterProvider(provider, producer)
	}
	meter := provider.Meter("shop", metric.WithInstrumentationVersion("1.0"))
	duration, err := meter.Float64Histogram("http.server.request.duration", metric.WithUnit("s"), metric.WithDescription("how long"))
	if err != nil {
		t.Fatal(err)
	}
	size, err := meter.Int64Histogram("http.server.request.body.size", metric.WithUnit("By"))
	if err != nil {
		t.Fatal(err)
	}
	requests, err := meter.Int64Counter("requests")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	var scrapes []map[string]any
	for range 2 {
		for i := range 2000 {
			route := metric.WithAttributes(attribute.Int("route", i%3))
			duration.Record(t.Context(), float64(r.IntN(2_000_000))/1e6, route)
			duration.Record(t.Context(), 0)
			size.Record(t.Context(), r.Int64N(1<<20), route)
			requests.Add(t.Context(), 1, route)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		scrapes = append(scrapes, read(t, families, ours))
	}
	return scrapes
}

// read returns what families hold, by name and labels.
func read(t *testing.T, families []*dto.MetricFamily, ours bool) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			key := fmt.Sprintf("%s %s %v %q", f.GetName(), f.GetType(), labels, f.GetHelp())
			h := m.GetHistogram()
			if h == nil {
				all[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
				continue
			}
			if ours && h.GetSchema() != 8 {
				t.Errorf("%s: schema %d, want 8", key, h.GetSchema())
			}
			all[key] = native{
				Count: h.GetSampleCount(), Sum: nearly(h.GetSampleSum()), Zero: h.GetZeroCount(),
				Positive: total(h.GetPositiveDelta()), Negative: total(h.GetNegativeDelta()), ZeroBounds: h.GetZeroThreshold(),
			}
		}
	}
	return all
}

// total returns the number of values in buckets, each of which is the difference to the one before.
func total(deltas []int64) int64 {
	var n, count int64
	for _, d := range deltas {
		count += d
		n += count
	}
	return n
}

// TestPrometheusScrapesTheSame compares what Prometheus scrapes of the SDK's exponential histograms
// and of ours.
func TestPrometheusScrapesTheSame(t *testing.T) {
	want, got := scrape(t, false), scrape(t, true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SDK (-) and ours (+):\n%s", diff)
	}
	histograms := 0
	for _, v := range got[1] {
		if h, ok := v.(native); ok {
			histograms++
			if h.Count == 0 || h.Count != h.Zero+uint64(h.Positive) {
				t.Errorf("%+v: want as many values in buckets", h)
			}
		}
	}
	if histograms != 7 {
		t.Errorf("%d native histograms, want 7", histograms)
	}
}
