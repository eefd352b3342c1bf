package hdrmetric

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// collectSums adds what a producer of one int64 histogram has to report to sums, by attributes.
func collectSums(t *testing.T, p *Producer, sums map[string]int64) {
	t.Helper()
	scopes, err := p.Produce(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, scope := range scopes {
		seen := map[string]bool{}
		for _, point := range scope.Metrics[0].Data.(metricdata.ExponentialHistogram[int64]).DataPoints {
			set := point.Attributes.Encoded(attribute.DefaultEncoder())
			if seen[set] {
				t.Errorf("two points with attributes %s", set)
			}
			seen[set] = true
			sums[set] += point.Sum
		}
	}
}

func deltaProducer() *Producer {
	return NewProducer(WithTemporality(metricdata.DeltaTemporality))
}

// TestForget records ever new sets of attributes, a few in each interval, far more than the limit
// in all.
func TestForget(t *testing.T) {
	first, second := deltaProducer(), deltaProducer()
	p := WrapMeterProvider(nil, first, second, WithCardinalityLimit(20))
	instrument, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	h := instrument.(*int64Histogram)
	bound := h.Bind(attribute.String("kept", "bound"))
	s := h.streams[0]
	sums := [2]map[string]int64{{}, {}}
	for i := range 60 {
		for j := range 4 {
			h.Record(t.Context(), 1, metric.WithAttributes(attribute.Int("i", 4*i+j)))
		}
		if i == 0 || i == 59 {
			bound.Record(t.Context(), 1)
			h.Record(t.Context(), 1)
		}
		collectSums(t, first, sums[0])
		if i%2 == 1 {
			collectSums(t, second, sums[1])
		}
	}
	for i, got := range sums {
		if len(got) != 60*4+2 || got["kept=bound"] != 2 || got[""] != 2 {
			t.Errorf("reader %d: %d sets, %d bound, %d without, want %d, 2, 2", i, len(got), got["kept=bound"], got[""], 60*4+2)
		}
	}
	if all, leaving := s.snapshot(); len(all) > 20 || len(leaving) > 20 {
		t.Errorf("%d series and %d leaving, want few", len(all), len(leaving))
	}
}

func TestForgetFreesTheLimit(t *testing.T) {
	producer := deltaProducer()
	p := WrapMeterProvider(nil, producer, WithCardinalityLimit(4))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	record := func(from, to int) {
		for i := from; i < to; i++ {
			h.Record(t.Context(), 1, metric.WithAttributeSet(numbered(i)))
		}
	}
	const overflow = "otel.metric.overflow=true"
	record(0, 10)
	sums := map[string]int64{}
	collectSums(t, producer, sums)
	if sums[overflow] != 7 || len(sums) != 4 {
		t.Errorf("sums %v, want 3 sets and 7 in the overflow", sums)
	}
	collectSums(t, producer, map[string]int64{}) // nothing new: all are forgotten
	record(7, 10)
	sums = map[string]int64{}
	collectSums(t, producer, sums)
	if sums[overflow] != 0 || len(sums) != 3 {
		t.Errorf("sums %v, want 3 sets and no overflow", sums)
	}
}

func TestForgetTakesBack(t *testing.T) {
	producer := deltaProducer()
	p := WrapMeterProvider(nil, producer, WithCardinalityLimit(4))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	s := h.(*int64Histogram).streams[0]
	before := s.series(numbered(0))
	for i := range 3 {
		h.Record(t.Context(), 1, metric.WithAttributeSet(numbered(i)))
	}
	sums := map[string]int64{}
	collectSums(t, producer, sums)
	collectSums(t, producer, sums)
	if all, leaving := s.snapshot(); len(all) != 0 || len(leaving) != 3 {
		t.Fatalf("%d series and %d leaving, want 0 and 3", len(all), len(leaving))
	}
	before.values.Record(10) // by a goroutine that has found the series before it left
	h.Record(t.Context(), 100, metric.WithAttributeSet(numbered(0)))
	if s.series(numbered(0)) != before {
		t.Errorf("the set has a new series, want the one that is leaving")
	}
	late := s.leaving[0]
	late.values.Record(1000)
	collectSums(t, producer, sums)
	if sums["i=0"] != 111 || sums["i=1"] != 1001 {
		t.Errorf("sums %v, want 111 of set 0 and 1001 of set 1", sums)
	}
	if all, leaving := s.snapshot(); len(all) != 1 || len(leaving) != 0 {
		t.Errorf("%d series and %d leaving, want 1 and 0", len(all), len(leaving))
	}
}

// TestForgetNot has a cumulative reader, which wants to know of every set always.
func TestForgetNot(t *testing.T) {
	cumulative, delta := NewProducer(), deltaProducer()
	p := WrapMeterProvider(nil, cumulative, delta, WithCardinalityLimit(10))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		h.Record(t.Context(), 1, metric.WithAttributeSet(numbered(i)))
		collectSums(t, delta, map[string]int64{})
		sums := map[string]int64{}
		if collectSums(t, cumulative, sums); len(sums) != i+1 {
			t.Errorf("%d sets, want %d", len(sums), i+1)
		}
	}
}

// TestForgetConcurrentSafe has sets of attributes come and go while two readers collect, and adds
// up.
func TestForgetConcurrentSafe(t *testing.T) {
	const goroutines, rounds = 4, 3000
	first, second := deltaProducer(), deltaProducer()
	p := WrapMeterProvider(nil, first, second, WithCardinalityLimit(50))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	var writers, readers sync.WaitGroup
	var progress [goroutines]atomic.Int64
	done := make(chan struct{})
	sums := [2]map[string]int64{{}, {}}
	for i, producer := range []*Producer{first, second} {
		readers.Go(func() {
			for {
				collectSums(t, producer, sums[i])
				select {
				case <-done:
					collectSums(t, producer, sums[i])
					return
				default:
					advance(progress[:], rounds)
				}
			}
		})
	}
	for g := range goroutines {
		writers.Go(func() {
			for i := range rounds {
				h.Record(context.Background(), 1, metric.WithAttributeSet(numbered((g*rounds+i)/20)))
				progress[g].Add(1)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for i := range sums {
		var total int64
		for _, n := range sums[i] {
			total += n
		}
		if total != goroutines*rounds {
			t.Errorf("reader %d: %d values, want %d", i, total, goroutines*rounds)
		}
	}
}

// advance waits until each of the writers that has not done all has recorded once more. Between two
// collections it keeps a record from taking as long as both, which is what a series that leaves
// does not wait for.
func advance(progress []atomic.Int64, all int64) {
	for i := range progress {
		for n := progress[i].Load(); progress[i].Load() < min(n+1, all); {
			runtime.Gosched()
		}
	}
}

// TestBeyondTheLimitWithoutAttributes records values without attributes beyond the limit while the
// stream is locked, which would block for good if each took the lock.
func TestBeyondTheLimitWithoutAttributes(t *testing.T) {
	producer := deltaProducer()
	p := WrapMeterProvider(nil, producer, WithCardinalityLimit(3))
	h, err := p.Meter("m").Int64Histogram("h")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		h.Record(t.Context(), 1, metric.WithAttributeSet(numbered(i)))
	}
	s := h.(*int64Histogram).streams[0]
	s.mu.Lock()
	h.Record(t.Context(), 10)
	s.mu.Unlock()
	sums := map[string]int64{}
	collectSums(t, producer, sums)
	if sums["otel.metric.overflow=true"] != 11 {
		t.Errorf("sums %v, want 11 in the overflow", sums)
	}
}
