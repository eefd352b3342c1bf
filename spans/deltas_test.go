package spans

import (
	"testing"

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
