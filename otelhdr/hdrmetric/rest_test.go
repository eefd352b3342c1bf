package hdrmetric

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
)

// A slowReservoir takes a millisecond to be read.
type slowReservoir struct{}

func (slowReservoir) Offer(context.Context, time.Time, exemplar.Value, []attribute.KeyValue) {}

func (slowReservoir) Collect(*[]exemplar.Exemplar) { time.Sleep(time.Millisecond) }

// TestProduceRests: a collection of many series rests as long as it works, until its context ends.
func TestProduceRests(t *testing.T) {
	slow := func(sdkmetric.Aggregation) exemplar.ReservoirProvider {
		return func(attribute.Set) exemplar.Reservoir { return slowReservoir{} }
	}
	view := func(sdkmetric.Instrument) (sdkmetric.Stream, bool) {
		return sdkmetric.Stream{Name: "h", ExemplarReservoirProviderSelector: slow}, true
	}
	synctest.Test(t, func(t *testing.T) {
		producer := NewProducer()
		p := WrapMeterProvider(nil, producer, WithView(view), WithExemplarFilter(exemplar.AlwaysOnFilter))
		h, err := p.Meter("m").Int64Histogram("h")
		if err != nil {
			t.Fatal(err)
		}
		const series = 20
		for i := range series {
			h.Record(t.Context(), 1, metric.WithAttributeSet(numbered(i)))
		}
		took := func(ctx context.Context) time.Duration {
			begun := time.Now()
			if got, err := producer.Produce(ctx); len(got) != 1 || err != nil {
				t.Errorf("Produce = %d scopes, %v", len(got), err)
			}
			return time.Since(begun)
		}
		// A worker that another test has left in its turn is waited for, 2 ms.
		if got, want := took(t.Context()), (2*series-1)*time.Millisecond; got < want || got > want+3*time.Millisecond {
			t.Errorf("a collection takes %v, want %v with its rests", got, want)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if got, want := took(over), series*time.Millisecond; got != want {
			t.Errorf("a collection without time left takes %v, want %v", got, want)
		}
	})
}
