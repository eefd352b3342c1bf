package spans

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"
)

// TestSelfTimeIsReadFromBelow reads while spans end: the sum of self times never decreases, is
// never more than that of the spans that have begun to end, and exact when they have ended.
func TestSelfTimeIsReadFromBelow(t *testing.T) {
	s := newRegionStats(instrumentation.Scope{}, "name", trace.SpanKindInternal)
	const writers, each = 4, 20_000
	var begun atomic.Uint64
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() {
		last := time.Duration(0)
		for {
			durations, self := s.read(nil)
			most := time.Duration(begun.Load())
			if self < last || self > most || float64(self) > durations.Sum() {
				t.Errorf("self times of %d ns after %d, of %v ns in all and %d begun", self, last, durations.Sum(), most)
				return
			}
			last = self
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				self := int64(i % 7)
				begun.Add(uint64(self))
				s.record(self+int64((i+w)%5), self, false)
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	want := time.Duration(0)
	for i := range each {
		want += time.Duration(i%7) * writers
	}
	if _, got := s.read(nil); got != want {
		t.Errorf("self times of %d ns, want %d", got, want)
	}
}

// TestSumsBeyondADuration: sums of more than 292 years are the longest duration, and not negative.
func TestSumsBeyondADuration(t *testing.T) {
	const longest = math.MaxInt64
	s := newRegionStats(instrumentation.Scope{}, "name", trace.SpanKindInternal)
	s.record(longest-10, 5, false)
	s.record(longest-10, 5, false)
	if got := s.snapshot(); got.Total != longest || got.Self != 10 {
		t.Errorf("total %v, self %v, want %v and 10 ns", got.Total, got.Self, time.Duration(longest))
	}
	for range 3 { // until the sum needs a further word
		s.record(longest, longest, false)
		if got := s.snapshot(); got.Total != longest || got.Self != longest {
			t.Errorf("total %v, self %v, want %v", got.Total, got.Self, time.Duration(longest))
		}
	}
}
