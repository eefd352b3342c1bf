package profile

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/otelhdr"
)

func TestProducer(t *testing.T) {
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	h.RecordN(uint64(3*time.Millisecond), 7)
	p := bothModes()
	p.Tallies = []Tally{
		{Mode: ModeOverlap, Progress: "checkout", Visits: 100, Effective: 2 * time.Second},
		{Mode: ModeOverlap, Region: Region{Scope: "shop", Name: "price"}, Speedup: 0.5, Progress: "checkout", Visits: 90, Effective: 1500 * time.Millisecond, Delay: 400 * time.Millisecond, Delays: 40, Latency: h.Snapshot(nil)},
	}
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(NewProducer(func() Profile { return p })))
	defer reader.Shutdown(context.Background())
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	var got metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.ScopeMetrics) != 1 || got.ScopeMetrics[0].Scope.Name != naming.CausalScope {
		t.Fatalf("%d scopes, want %s", len(got.ScopeMetrics), naming.CausalScope)
	}
	byName := map[string]metricdata.Metrics{}
	for _, m := range got.ScopeMetrics[0].Metrics {
		byName[m.Name] = m
	}
	base := attribute.NewSet(modeKey.String("overlap"), pointKey.String("checkout"), speedupKey.Float64(0), naming.PlanHashKey.String("0123"))
	cell := attribute.NewSet(modeKey.String("overlap"), pointKey.String("checkout"), speedupKey.Float64(0.5), naming.PlanHashKey.String("0123"),
		attribute.String("otelprof.region.name", "price"), attribute.String("otelprof.region.scope", "shop"))
	sum := func(name, unit string, x, y float64) {
		t.Helper()
		metricdatatest.AssertEqual(t, metricdata.Metrics{Name: name, Description: byName[name].Description, Unit: unit, Data: metricdata.Sum[float64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[float64]{{Attributes: base, Value: x}, {Attributes: cell, Value: y}},
		}}, byName[name], metricdatatest.IgnoreTimestamp())
	}
	sum(effectiveTimeMetric, "s", 2, 1.5)
	sum(delayMetric, "s", 0, 0.4)
	visits, ok := byName[progressMetric].Data.(metricdata.Sum[int64])
	if !ok || len(visits.DataPoints) != 2 || visits.DataPoints[1].Value != 90 || !visits.DataPoints[0].StartTime.Equal(p.Started) {
		t.Errorf("%s: %+v", progressMetric, visits)
	}
	delays, ok := byName[delaysMetric].Data.(metricdata.Sum[int64])
	if !ok || len(delays.DataPoints) != 2 || delays.DataPoints[1].Value != 40 {
		t.Errorf("%s: %+v", delaysMetric, delays)
	}
	if _, has := byName[ownTimeMetric]; has {
		t.Errorf("%s: want it of slow-downs only", ownTimeMetric)
	}
	latency, ok := byName[latencyMetric].Data.(metricdata.ExponentialHistogram[float64])
	if !ok || len(latency.DataPoints) != 1 || latency.DataPoints[0].Count != 7 || latency.DataPoints[0].Scale != exponentialScale {
		t.Errorf("%s: %+v", latencyMetric, latency)
	}
	for name, of := range map[string]func(Effect) float64{
		effectMetric:     func(e Effect) float64 { return e.Reduction },
		effectLowMetric:  func(e Effect) float64 { return e.Lo },
		effectHighMetric: func(e Effect) float64 { return e.Hi },
	} {
		var want, have []float64
		for _, c := range p.Curves {
			for _, e := range c.measured() {
				want = append(want, of(e))
			}
		}
		gauge, ok := byName[name].Data.(metricdata.Gauge[float64])
		if !ok {
			t.Fatalf("%s is %T", name, byName[name].Data)
		}
		for _, point := range gauge.DataPoints {
			have = append(have, point.Value)
			mode, _ := point.Attributes.Value(modeKey)
			if _, has := point.Attributes.Value(naming.PlanHashKey); has == (mode.AsString() == string(ModeReplay)) {
				t.Errorf("%s: attributes %v: a plan's hash belongs to experiments", name, point.Attributes.ToSlice())
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s differs, -want +got:\n%s", name, diff)
		}
	}
}

// The placebos of a slow-down are those of a region, so that sums tell what its delays cost.
func TestProducerOfSlowdowns(t *testing.T) {
	price := Region{Scope: "shop", Name: "price"}
	p := Profile{Tallies: []Tally{
		{Mode: ModeSlowdown, Region: price, Progress: "checkout", Own: 3 * time.Second},
		{Mode: ModeSlowdown, Region: price, Speedup: 0.1, Progress: "checkout", Own: 2 * time.Second},
	}, Curves: []Curve{
		{Mode: ModeSlowdown, Region: price, Progress: "checkout", Inside: true, Awaited: 0.25, Served: 3, Overtaken: 0.125, HoldsUp: 0.0625, Expiring: 0.5},
		{Mode: ModeSlowdown, Region: price, Progress: "cart", Inside: true, Awaited: 0.25},
		{Mode: ModeSlowdown, Region: Region{Scope: "sql", Name: "elsewhere"}, Progress: "checkout"},
	}}
	got, err := NewProducer(func() Profile { return p }).Produce(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	point := func(level, s float64) metricdata.DataPoint[float64] {
		return metricdata.DataPoint[float64]{Value: s, Attributes: attribute.NewSet(modeKey.String("slowdown"), pointKey.String("checkout"), speedupKey.Float64(level),
			naming.RegionNameKey.String("price"), naming.RegionScopeKey.String("shop"))}
	}
	wait := func(kind string, part float64) metricdata.DataPoint[float64] {
		return metricdata.DataPoint[float64]{Value: part, Attributes: attribute.NewSet(modeKey.String("slowdown"), waitKey.String(kind),
			naming.RegionNameKey.String("price"), naming.RegionScopeKey.String("shop"))}
	}
	want := map[string]metricdata.Aggregation{
		ownTimeMetric: metricdata.Sum[float64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[float64]{point(0, 3), point(0.1, 2)},
		},
		waitsMetric: metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{wait("inside", 1), wait("awaited", 0.25), wait("served", 3), wait("overtaken", 0.125), wait("processor", 0), wait("others", 0.0625), wait("deadlines", 0.5)}},
	}
	for _, m := range got[0].Metrics {
		if data, ok := want[m.Name]; ok {
			metricdatatest.AssertEqual(t, metricdata.Metrics{Name: m.Name, Description: m.Description, Unit: m.Unit, Data: data}, m, metricdatatest.IgnoreTimestamp())
			delete(want, m.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

func TestProducerOfNothing(t *testing.T) {
	got, err := NewProducer(func() Profile { return Profile{} }).Produce(context.Background())
	if got != nil || err != nil {
		t.Errorf("Produce = %v, %v, want nothing", got, err)
	}
}

func TestProducerIsBounded(t *testing.T) {
	p := Profile{Tallies: make([]Tally, 3*mostPoints)}
	for range 3 * mostPoints {
		p.Curves = append(p.Curves, Curve{Effects: []Effect{{Speedup: 0.5}}})
	}
	got, _ := NewProducer(func() Profile { return p }).Produce(context.Background())
	for _, m := range got[0].Metrics {
		n := 0
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			n = len(data.DataPoints)
		case metricdata.Sum[float64]:
			n = len(data.DataPoints)
		case metricdata.Gauge[float64]:
			n = len(data.DataPoints)
		}
		if n != mostPoints {
			t.Errorf("%s has %d points, want %d", m.Name, n, mostPoints)
		}
	}
}
