package hdrmetric

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// pointsOf returns what a producer has to report of one int64 histogram, by attributes.
func pointsOf(t *testing.T, p *Producer) map[string]metricdata.ExponentialHistogramDataPoint[int64] {
	t.Helper()
	scopes, err := p.Produce(context.Background())
	if err != nil {
		t.Error(err)
	}
	points := map[string]metricdata.ExponentialHistogramDataPoint[int64]{}
	for _, scope := range scopes {
		for _, point := range scope.Metrics[0].Data.(metricdata.ExponentialHistogram[int64]).DataPoints {
			points[point.Attributes.Encoded(attribute.DefaultEncoder())] = point
		}
	}
	return points
}

func finishable(t *testing.T, opts ...MeterProviderOption) *int64Histogram {
	t.Helper()
	h, err := WrapMeterProvider(nil, opts...).Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	return h.(*int64Histogram)
}

// TestFinish has each of two readers collect a series once more, and then begins it anew.
func TestFinish(t *testing.T) {
	cumulative, delta := NewProducer(), deltaProducer()
	h := finishable(t, cumulative, delta)
	a, b := attribute.String("k", "a"), attribute.String("k", "b")
	for _, opts := range [][]metric.RecordOption{{metric.WithAttributes(a)}, {metric.WithAttributes(b)}, nil} {
		h.Record(t.Context(), 1, opts...)
		h.Record(t.Context(), -1, opts...)
	}
	pointsOf(t, cumulative)
	h.Record(t.Context(), 5, metric.WithAttributes(a))
	before := time.Now()
	h.Finish(t.Context(), a)
	h.Finish(t.Context())
	h.Finish(t.Context(), a)
	h.Finish(t.Context(), attribute.String("k", "unknown"))
	after := time.Now()

	for name, p := range map[string]*Producer{"cumulative": cumulative, "delta": delta} {
		points := pointsOf(t, p)
		last, ok := points["k=a"]
		if !ok || last.Count != 3 || last.Sum != 5 || last.Time.Before(before) || last.Time.After(after) {
			t.Errorf("%s: last point %+v, want 3 values of sum 5 when it was finished", name, last)
		}
		if points[""].Count != 2 || points["k=b"].Count != 2 {
			t.Errorf("%s: points %v, want 2 values in each other", name, points)
		}
		if again := pointsOf(t, p); again["k=a"].Count != 0 || again[""].Count != 0 {
			t.Errorf("%s: points after the last: %v", name, again)
		}
	}
	if points := pointsOf(t, cumulative); len(points) != 1 || points["k=b"].Count != 2 {
		t.Errorf("points %v, want that of b alone", points)
	}
	pointsOf(t, delta)
	s := h.streams[0]
	if len(s.all) != 1 || len(s.leaving) != 0 || s.plain.Load() != nil {
		t.Errorf("%d series, %d leaving, want 1, 0", len(s.all), len(s.leaving))
	}
	h.Record(t.Context(), 7, metric.WithAttributes(a))
	h.Record(t.Context(), 7)
	for name, p := range map[string]*Producer{"cumulative": cumulative, "delta": delta} {
		points := pointsOf(t, p)
		if x := points["k=a"]; x.Count != 1 || x.Sum != 7 || name == "cumulative" && x.StartTime.Before(after) {
			t.Errorf("%s: begun anew: %+v, want 1 value since then", name, x)
		}
		if points[""].Count != 1 {
			t.Errorf("%s: without attributes begun anew: %+v, want 1 value", name, points[""])
		}
	}
}

// TestFinishTakenBack records after Finish, before any and between two readers have collected.
func TestFinishTakenBack(t *testing.T) {
	first, second := NewProducer(), NewProducer()
	h := finishable(t, first, second)
	a := attribute.String("k", "a")
	h.Record(t.Context(), 1, metric.WithAttributes(a))
	h.Finish(t.Context(), a)
	h.Record(t.Context(), 1, metric.WithAttributes(a))
	for range 3 {
		if n := pointsOf(t, first)["k=a"].Count; n != 2 {
			t.Errorf("%d values, want 2", n)
		}
	}
	h.Finish(t.Context(), a)
	pointsOf(t, first)
	h.Record(t.Context(), 1, metric.WithAttributes(a))
	for _, p := range []*Producer{second, first} {
		for range 2 {
			if n := pointsOf(t, p)["k=a"].Count; n != 3 {
				t.Errorf("%d values, want 3", n)
			}
		}
	}
	h.Finish(t.Context(), a)
	pointsOf(t, first)
	pointsOf(t, second)
	h.Record(t.Context(), 1, metric.WithAttributes(a)) // while it leaves
	for _, p := range []*Producer{first, second, first, second} {
		if n := pointsOf(t, p)["k=a"].Count; n != 4 {
			t.Errorf("%d values, want 4", n)
		}
	}
}

// TestFinishDuringCollection finishes a series between the reading of it and the look at its end.
func TestFinishDuringCollection(t *testing.T) {
	p := NewProducer()
	h, a := finishable(t, p), attribute.String("k", "a")
	h.Record(t.Context(), 1, metric.WithAttributes(a))
	s := h.streams[0]
	all, _ := s.snapshot()
	_, n := p.read(all[0])
	h.Record(t.Context(), 2, metric.WithAttributes(a))
	h.Finish(t.Context(), a)
	if s.last(all[0], all[0].ended.Load(), p.index, n); all[0].ended.Load() == nil {
		t.Error("the end is forgotten")
	}
	if n := pointsOf(t, p)["k=a"].Count; n != 2 {
		t.Errorf("the last point has %d values, want 2", n)
	}
	if _, there := pointsOf(t, p)["k=a"]; there {
		t.Error("a point behind the last one")
	}
}

// TestFinishLeavesAlone finishes what cannot be.
func TestFinishLeavesAlone(t *testing.T) {
	p := NewProducer()
	keepK := sdkmetric.NewView(sdkmetric.Instrument{Name: "h"},
		sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("k", "otel.metric.overflow")})
	h := finishable(t, p, WithCardinalityLimit(3), WithView(keepK))
	bound := h.Bind(attribute.String("k", "bound"))
	bound.Record(t.Context(), 1)
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("k", "a"), attribute.Int("left", 1)))
	h.Record(t.Context(), 1, metric.WithAttributes(attribute.String("k", "too many")))
	for _, kv := range []attribute.KeyValue{
		attribute.String("k", "bound"), attribute.String("k", "too many"), attribute.Bool("otel.metric.overflow", true),
	} {
		h.Finish(t.Context(), kv)
	}
	pointsOf(t, p)
	if points := pointsOf(t, p); len(points) != 3 {
		t.Errorf("points %v, want 3", points)
	}
	attrs := []attribute.KeyValue{attribute.Int("left", 2), attribute.String("k", "b"), attribute.String("k", "a")}
	h.Finish(t.Context(), attrs...) // of the same series, by the filter
	if attrs[0].Key != "left" || attrs[1].Value.AsString() != "b" {
		t.Errorf("the attributes of the caller were changed: %v", attrs)
	}
	pointsOf(t, p)
	if points := pointsOf(t, p); len(points) != 2 {
		t.Errorf("points %v, want 2", points)
	}
}

// TestFinishConcurrentSafe finishes series all the time while they are recorded and collected, and
// adds up the deltas.
func TestFinishConcurrentSafe(t *testing.T) {
	const writers, each = 4, 3000
	p := deltaProducer()
	h := finishable(t, p)
	attrs := []attribute.KeyValue{attribute.Int("i", 0), attribute.Int("i", 1)}
	var all sync.WaitGroup
	var progress [writers]atomic.Int64
	for i := range writers {
		all.Go(func() {
			for j := range each {
				h.Record(context.Background(), 1, metric.WithAttributes(attrs[j%2]))
				h.Record(context.Background(), 1)
				progress[i].Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	sums := map[string]int64{}
	collect := func() {
		for set, point := range pointsOf(t, p) {
			sums[set] += point.Sum
		}
	}
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		for _, kv := range attrs {
			h.Finish(context.Background(), kv)
		}
		h.Finish(context.Background())
		collect()
		advance(progress[:], each)
	}
	collect()
	if sums["i=0"]+sums["i=1"] != writers*each || sums[""] != writers*each {
		t.Errorf("the deltas add up to %v, want %d with and without attributes", sums, writers*each)
	}
}
