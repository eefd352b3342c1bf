package spans

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"
)

// TestDeltaKeepsWhatASpanThatIsEndingHasAdded collects when a span has added what is not its self
// time and not yet its duration.
func TestDeltaKeepsWhatASpanThatIsEndingHasAdded(t *testing.T) {
	tp := WrapTracerProvider(nil)
	s := tp.Tracer("scope").(*tracer).addStats("name", trace.SpanKindInternal)
	p := NewProducer(tp, metricdata.DeltaTemporality)
	var self float64
	var failed int64
	produce := func() {
		t.Helper()
		got, err := p.Produce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return
		}
		for _, point := range got[0].Metrics[1].Data.(metricdata.Sum[float64]).DataPoints {
			self += point.Value
		}
		for _, point := range got[0].Metrics[2].Data.(metricdata.Sum[int64]).DataPoints {
			failed += point.Value
		}
	}
	s.covered.Record(2e9)
	s.errors.Add(1)
	produce()
	s.durations.Record(5e9)
	produce()
	produce()
	if self != 3 || failed != 1 {
		t.Errorf("deltas add up to %v s of self time and %d errors, want 3 and 1", self, failed)
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDeltasOfManyRegions: a collection allocates for its points, and nothing for the regions that
// have none.
func TestDeltasOfManyRegions(t *testing.T) {
	tp := WrapTracerProvider(nil)
	tr := tp.Tracer("scope")
	for i := range 100 {
		_, s := tr.Start(t.Context(), fmt.Sprint("region ", i))
		s.End()
	}
	p := NewProducer(tp, metricdata.DeltaTemporality)
	produce := func() int {
		got, err := p.Produce(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	if first, second := produce(), produce(); first != 1 || second != 0 {
		t.Errorf("%d scopes and then %d, want 1 and none", first, second)
	}
	if n := testing.AllocsPerRun(10, func() { produce() }); n >= 300 { // rests allocate, too
		t.Errorf("a collection of 100 regions without news allocates %v times, want fewer", n)
	}
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPointsBeginWithTheProvider: a producer gives what was measured before it was made.
func TestPointsBeginWithTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		tp := WrapTracerProvider(nil)
		_, s := tp.Tracer("scope").Start(t.Context(), "name")
		s.End()
		time.Sleep(time.Minute)
		for _, temporality := range []metricdata.Temporality{metricdata.CumulativeTemporality, metricdata.DeltaTemporality} {
			got, err := NewProducer(tp, temporality).Produce(t.Context())
			if err != nil || len(got) != 1 {
				t.Fatalf("Produce = %d scopes, %v", len(got), err)
			}
			p := got[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
			if !p.StartTime.Equal(begun) || !p.Time.Equal(time.Now()) {
				t.Errorf("%v: a point from %v to %v, want from %v on", temporality, p.StartTime, p.Time, begun)
			}
		}
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
