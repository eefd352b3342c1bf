package hdrmetric

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

func numbered(i int) attribute.Set { return attribute.NewSet(attribute.Int("i", i)) }

func TestSeriesTable(t *testing.T) {
	table := newSeriesTable()
	all := make([]series, 5000)
	for i := range all {
		set := numbered(i)
		if table.get(set.Equivalent()) != nil {
			t.Fatalf("set %d is there before it is put", i)
		}
		table.put(set.Equivalent(), &all[i])
	}
	for i := range all {
		set := numbered(i)
		if got := table.get(set.Equivalent()); got != &all[i] {
			t.Errorf("get(%d) = %p, want %p", i, got, &all[i])
		}
	}
	if n := len(*table.slots.Load()); n < 2*len(all) || n > 4*len(all) {
		t.Errorf("%d slots for %d series, want it at most half full", n, len(all))
	}
}

// TestSeriesConcurrentSafe has goroutines look the same new sets up at once: each must get one
// series.
func TestSeriesConcurrentSafe(t *testing.T) {
	const goroutines, sets = 8, 3000
	p := WrapMeterProvider(noop.NewMeterProvider(), NewProducer(), WithCardinalityLimit(sets/2))
	h, err := p.Meter("m").Float64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	s := h.(*float64Histogram).streams[0]
	var found [goroutines][sets]*series
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range sets {
				found[g][i] = s.series(numbered(i))
			}
		})
	}
	wg.Wait()
	for i := range sets {
		for g := 1; g < goroutines; g++ {
			if found[g][i] != found[0][i] {
				t.Fatalf("set %d has two series", i)
			}
		}
	}
	if all, _ := s.snapshot(); len(all) != sets/2 {
		t.Errorf("%d series, want %d", len(all), sets/2)
	}
}

// TestSeriesAliases has more sets than the stream remembers, which a filter makes one series.
func TestSeriesAliases(t *testing.T) {
	view := sdkmetric.NewView(sdkmetric.Instrument{Name: "*"}, sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter("kept")})
	p := WrapMeterProvider(noop.NewMeterProvider(), NewProducer(), WithView(view))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	const n = maxAliases + 500
	for i := range n {
		h.Record(context.Background(), 1, metric.WithAttributes(attribute.Int("kept", 1), attribute.String("user", strconv.Itoa(i))))
	}
	s := h.(*int64Histogram).streams[0]
	all, _ := s.snapshot()
	if len(all) != 1 || all[0].values.Count() != n {
		t.Errorf("%d series, want one with all values", len(all))
	}
	if got := s.aliased.Load(); got != maxAliases {
		t.Errorf("%d sets remembered, want %d", got, maxAliases)
	}
}
