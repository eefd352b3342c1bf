package pmuattrs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/naming"
)

// collected is what a reader with a producer gets, by metric.
func collected(t *testing.T, p sdkmetric.Producer) map[string]metricdata.Metrics {
	t.Helper()
	all, err := p.Produce(context.Background())
	if err != nil || len(all) != 1 || all[0].Scope.Name != naming.CountersScope {
		t.Fatalf("Produce = %v, %v, want one scope %s", all, err, naming.CountersScope)
	}
	byName := map[string]metricdata.Metrics{}
	for _, m := range all[0].Metrics {
		byName[m.Name] = m
	}
	return byName
}

func points(t *testing.T, m metricdata.Metrics) []metricdata.ExponentialHistogramDataPoint[float64] {
	t.Helper()
	h, ok := m.Data.(metricdata.ExponentialHistogram[float64])
	if !ok {
		t.Fatalf("%s: %T, want an exponential histogram", m.Name, m.Data)
	}
	return h.DataPoints
}

func TestProducer(t *testing.T) {
	for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
		t.Run(temporality.String(), func(t *testing.T) {
			threads := newFakeThreads([]Event{Cycles, Instructions}, 1000, 2500)
			h := fakeHook(t, threads)
			tr, _ := provide(t, h)
			p := NewProducer(h, temporality)
			if got, err := p.Produce(t.Context()); got != nil || err != nil {
				t.Errorf("Produce = %v, %v before any span, want nothing", got, err)
			}
			span(tr, "price")
			span(tr, "price")
			span(tr, "ship")
			first := collected(t, p)
			cycles := points(t, first["pmu.cycles"])
			if len(cycles) != 2 || cycles[0].Count != 2 || cycles[0].Sum != 2000 {
				t.Fatalf("pmu.cycles = %+v, want price with 2 spans of 1000, and ship", cycles)
			}
			want := attribute.NewSet(naming.RegionNameKey.String("price"), naming.RegionScopeKey.String("test"), naming.CounterSourceKey.String("hw"))
			if diff := cmp.Diff(want.ToSlice(), cycles[0].Attributes.ToSlice(), cmp.Comparer(func(a, b attribute.KeyValue) bool { return a == b })); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if m := first["pmu.instructions"]; m.Unit != "{instruction}" || points(t, m)[0].Sum != 5000 {
				t.Errorf("pmu.instructions: %q, %+v", m.Unit, m.Data)
			}

			threads.change = func(r *Reading) { r.values.Running-- }
			span(tr, "ship")
			threads.change = nil
			span(tr, "price")
			second := collected(t, p)
			cycles = points(t, second["pmu.cycles"])
			lost := second[uncountedMetric].Data.(metricdata.Sum[int64]).DataPoints
			if len(lost) != 1 || lost[0].Value != 1 || lost[0].Attributes != attribute.NewSet(naming.ReasonKey.String("multiplexed")) {
				t.Errorf("%s = %+v, want 1 multiplexed", uncountedMetric, lost)
			}
			if temporality == metricdata.CumulativeTemporality {
				if len(cycles) != 2 || cycles[0].Count != 3 || !cycles[0].StartTime.Equal(h.regions.begun) {
					t.Errorf("pmu.cycles = %+v, want price with 3 spans since the start", cycles)
				}
				return
			}
			if len(cycles) != 1 || cycles[0].Count != 1 || !cycles[0].StartTime.Equal(points(t, first["pmu.cycles"])[0].Time) {
				t.Errorf("pmu.cycles = %+v, want price with 1 span since the last time", cycles)
			}
			lost = collected(t, p)[uncountedMetric].Data.(metricdata.Sum[int64]).DataPoints
			if len(lost) != 1 || lost[0].Value != 0 {
				t.Errorf("%s = %+v, want 0 since the last time", uncountedMetric, lost)
			}
		})
	}
}

func TestProducerInReader(t *testing.T) {
	h := realHook(t)
	tr, _ := provide(t, h)
	span(tr, "price")
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(NewProducer(h, metricdata.CumulativeTemporality)))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer mp.Shutdown(t.Context())
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	if len(rm.ScopeMetrics) != 1 || len(rm.ScopeMetrics[0].Metrics) != len(h.Events()) {
		t.Errorf("%+v collected, want a metric for each of %v", rm.ScopeMetrics, h.Events())
	}
}

// TestDeltasOfManyRegions: a collection allocates for its points, and nothing for the regions that
// have none.
func TestDeltasOfManyRegions(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles, Instructions}, 1000, 2500))
	tr, _ := provide(t, h)
	for i := range 100 {
		span(tr, fmt.Sprint("region ", i))
	}
	p := NewProducer(h, metricdata.DeltaTemporality)
	if n := len(points(t, collected(t, p)["pmu.cycles"])); n != 100 {
		t.Errorf("%d points, want 100", n)
	}
	if n := testing.AllocsPerRun(10, func() {
		if got, err := p.Produce(t.Context()); len(got) != 0 || err != nil {
			t.Errorf("%d scopes without news, %v", len(got), err)
		}
	}); n >= 300 { // rests allocate, too
		t.Errorf("a collection of 100 regions without news allocates %v times, want fewer", n)
	}
}

// TestPointsBeginWithTheHook: a producer gives what was counted before it was made.
func TestPointsBeginWithTheHook(t *testing.T) {
	before := time.Now()
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
	after := time.Now()
	tr, _ := provide(t, h)
	span(tr, "price")
	for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
		p := points(t, collected(t, NewProducer(h, temporality))["pmu.cycles"])[0]
		if p.StartTime.Before(before) || p.StartTime.After(after) {
			t.Errorf("%v: a point from %v on, want from %v to %v", temporality, p.StartTime, before, after)
		}
	}
}
