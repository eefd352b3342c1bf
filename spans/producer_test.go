package spans_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans"
)

// collected is what one collection has of the regions, by "scope name", and of the drops.
type collected struct {
	count        map[string]uint64
	sum, self    map[string]float64
	errors       map[string]int64
	dropped      map[string]int64
	temporality  []metricdata.Temporality
	start, end   time.Time
	bucketCounts map[string]uint64 // zeros and all buckets
}

func newReader(t *testing.T, p sdkmetric.Producer) *sdkmetric.ManualReader {
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(p))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	t.Cleanup(func() {
		if err := mp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return reader
}

func collect(t *testing.T, reader *sdkmetric.ManualReader) collected {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatalf("Collect: %v", err)
	}
	c := collected{
		count: map[string]uint64{}, sum: map[string]float64{}, self: map[string]float64{},
		errors: map[string]int64{}, dropped: map[string]int64{}, bucketCounts: map[string]uint64{},
	}
	region := func(set attribute.Set) string {
		name, ok1 := set.Value(naming.RegionNameKey)
		scope, ok2 := set.Value(naming.RegionScopeKey)
		if !ok1 || !ok2 || set.Len() != 2 {
			t.Errorf("attributes %v, want name and scope of a region", set.ToSlice())
		}
		return scope.AsString() + " " + name.AsString()
	}
	if len(rm.ScopeMetrics) == 0 {
		return c // nothing has happened
	}
	if len(rm.ScopeMetrics) != 1 || rm.ScopeMetrics[0].Scope.Name != naming.SpansScope {
		t.Fatalf("scopes %+v, want %s", rm.ScopeMetrics, naming.SpansScope)
	}
	units := map[string]string{
		"otelprof.region.duration": "s", "otelprof.region.self_time": "s", "otelprof.region.errors": "{span}", "otelprof.dropped": "{record}",
	}
	for _, m := range rm.ScopeMetrics[0].Metrics {
		if m.Unit != units[m.Name] || m.Unit == "" {
			t.Errorf("metric %s in %q, want one of %v", m.Name, m.Unit, units)
		}
		if m.Description == "" {
			t.Errorf("%s has no description", m.Name)
		}
		switch data := m.Data.(type) {
		case metricdata.ExponentialHistogram[float64]:
			c.temporality = append(c.temporality, data.Temporality)
			if len(data.DataPoints) == 0 {
				t.Errorf("%s has no points", m.Name)
			}
			for _, p := range data.DataPoints {
				key := region(p.Attributes)
				c.count[key] += p.Count
				c.sum[key] += p.Sum
				c.start, c.end = p.StartTime, p.Time
				c.bucketCounts[key] += p.ZeroCount
				for _, n := range p.PositiveBucket.Counts {
					c.bucketCounts[key] += n
				}
				if p.Scale != 8 {
					t.Errorf("%s: scale %d, want 8", key, p.Scale)
				}
			}
		case metricdata.Sum[float64]:
			c.temporality = append(c.temporality, data.Temporality)
			for _, p := range data.DataPoints {
				c.self[region(p.Attributes)] += p.Value
			}
		case metricdata.Sum[int64]:
			c.temporality = append(c.temporality, data.Temporality)
			for _, p := range data.DataPoints {
				if m.Name == naming.DroppedMetric {
					reason, _ := p.Attributes.Value(naming.ReasonKey)
					c.dropped[reason.AsString()] += p.Value
				} else {
					c.errors[region(p.Attributes)] += p.Value
				}
			}
		}
	}
	return c
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// equal compares a collection, or several added up, with the provider's own account.
func (c collected) equal(t *testing.T, tp *spans.TracerProvider) {
	t.Helper()
	regions := tp.Regions()
	if len(c.count) != len(regions) {
		t.Errorf("%d regions collected, want %d", len(c.count), len(regions))
	}
	for _, r := range regions {
		key := r.Scope.Name + " " + r.Name
		if c.count[key] != r.Count || c.bucketCounts[key] != r.Count || c.errors[key] != int64(r.Errors) ||
			!near(c.sum[key], r.Total.Seconds()) || !near(c.self[key], r.Self.Seconds()) {
			t.Errorf("%s: count %d, in buckets %d, sum %v, self %v, errors %d; want %d, %v, %v, %d", key,
				c.count[key], c.bucketCounts[key], c.sum[key], c.self[key], c.errors[key], r.Count, r.Total.Seconds(), r.Self.Seconds(), r.Errors)
		}
	}
}

func (c collected) add(other collected) {
	for k, v := range other.count {
		c.count[k] += v
		c.sum[k] += other.sum[k]
		c.self[k] += other.self[k]
		c.errors[k] += other.errors[k]
		c.bucketCounts[k] += other.bucketCounts[k]
	}
	for k, v := range other.dropped {
		c.dropped[k] += v
	}
}

// work ends some spans: parents, children that fail, and one without a duration.
func work(tr trace.Tracer, n int) {
	for i := range n {
		ctx, parent := tr.Start(context.Background(), "parent", at(0))
		_, child := tr.Start(ctx, "child", at(0))
		if i%3 == 0 {
			child.SetStatus(codes.Error, "")
		}
		child.End(at(time.Duration(i) * ms))
		parent.End(at(time.Duration(3*i) * ms))
	}
}

func TestProducerIsEqualToRegions(t *testing.T) {
	tp := wrapSDK(t)
	reader := newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality))
	if c := collect(t, reader); len(c.count) != 0 || len(c.dropped) != 0 {
		t.Errorf("before any span %+v", c)
	}
	for range 3 {
		work(tp.Tracer("a"), 20)
		work(tp.Tracer("b"), 10)
		c := collect(t, reader)
		c.equal(t, tp)
		for _, got := range c.temporality {
			if got != metricdata.CumulativeTemporality {
				t.Errorf("temporality %v, want cumulative", got)
			}
		}
		if c.start.After(c.end) {
			t.Errorf("a point from %v to %v", c.start, c.end)
		}
	}
}

// Pushed each second, a region is collected when a span of it has ended, each 10 s, and where the
// collection is to be whole.
func TestPushOfWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := wrapSDK(t)
		whole := false
		pushed := func(temporality metricdata.Temporality) *sdkmetric.ManualReader {
			p := spans.NewProducer(tp, temporality)
			p.(interface{ SkipUnchanged(whole func() bool) }).SkipUnchanged(func() bool { return whole })
			return newReader(t, p)
		}
		reader, deltas := pushed(metricdata.CumulativeTemporality), pushed(metricdata.DeltaTemporality)
		work(tp.Tracer("still"), 3)
		var total collected
		for second := range 25 {
			work(tp.Tracer("busy"), 2)
			whole = second == 4
			got := collect(t, reader)
			if second == 0 || second == 4 || second == 13 || second == 22 {
				got.equal(t, tp)
			} else if len(got.count) != 2 || got.count["busy parent"] != uint64(2*second+2) || got.errors["busy child"] != int64(second+1) {
				t.Errorf("at %d s counts %v and errors %v, want those of the two regions of busy", second, got.count, got.errors)
			}
			if delta := collect(t, deltas); second == 0 {
				total = delta
			} else {
				total.add(delta)
			}
			time.Sleep(time.Second)
		}
		total.equal(t, tp)
	})
}

func TestProducerDeltasAddUp(t *testing.T) {
	tp := wrapSDK(t)
	reader := newReader(t, spans.NewProducer(tp, metricdata.DeltaTemporality))
	cumulative := newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality))
	total := collect(t, reader)
	var last time.Time
	for i := range 5 {
		work(tp.Tracer("a"), 10*i)
		c := collect(t, reader)
		for _, got := range c.temporality {
			if got != metricdata.DeltaTemporality {
				t.Errorf("temporality %v, want delta", got)
			}
		}
		if i == 0 && len(c.count) != 0 {
			t.Errorf("a delta without new spans has %v", c.count)
		}
		if i > 1 && !c.start.Equal(last) {
			t.Errorf("a delta starts at %v, want the end of the last, %v", c.start, last)
		}
		last = c.end
		total.add(c)
		total.equal(t, tp)
		collect(t, cumulative).equal(t, tp)
	}
}

func TestProducerDeltasAddUpUnderLoad(t *testing.T) {
	tp := wrapSDK(t)
	reader := newReader(t, spans.NewProducer(tp, metricdata.DeltaTemporality))
	total := collect(t, reader)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				work(tp.Tracer("a"), 5)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		total.add(collect(t, reader))
	}
	total.equal(t, tp)
}

func TestProducerDroppedByReason(t *testing.T) {
	store := &mapStore{before: func(rec *spans.SessionRecord) error {
		if rec.Name == "refused" {
			return errors.New("refused")
		}
		return nil
	}}
	boom := &recordingHook{onEnd: func(r *spans.Span) {
		if r.Name() == "boom" {
			panic("hook")
		}
	}}
	tp := wrapSDK(t, spans.WithStore(store), spans.WithHook(boom), spans.WithMaxRegions(5), spans.WithMaxSessionSpans(2))
	delta := newReader(t, spans.NewProducer(tp, metricdata.DeltaTemporality))
	cumulative := newReader(t, spans.NewProducer(tp, metricdata.CumulativeTemporality))
	tr := tp.Tracer("")
	total := collect(t, delta)
	for range 3 {
		timed(tr, "refused", ms)
		timed(tr, "boom", ms)
		ctx, root := tr.Start(context.Background(), "discarded", at(0))
		spans.SessionFromContext(ctx).Discard()
		for _, name := range []string{"a", "b", "too many"} {
			_, s := tr.Start(ctx, name, at(0))
			s.End(at(ms))
		}
		root.End(at(ms))
		stored(t, tp)
		total.add(collect(t, delta))
	}
	want := map[string]int64{"store_error": 3, "hook_panics": 3, "discarded": 3, "session_full": 6, "regions_full": 3}
	if fmt.Sprint(total.dropped) != fmt.Sprint(want) {
		t.Errorf("deltas add up to %v, want %v", total.dropped, want)
	}
	if got := collect(t, cumulative).dropped; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("cumulative %v, want %v", got, want)
	}
}

func TestProduceNeverFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tp := spans.WrapTracerProvider(nil)
	p := spans.NewProducer(tp, metricdata.CumulativeTemporality)
	work(tp.Tracer(""), 3)
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Produce(ctx); err != nil || len(got) != 1 {
		t.Errorf("Produce = %d scopes, %v", len(got), err)
	}
}
