package spans

import (
	"sync"
	"sync/atomic"
	"testing"

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
		last := uint64(0)
		for {
			durations, self := s.read(nil)
			most := begun.Load()
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
	want := uint64(0)
	for i := range each {
		want += uint64(i%7) * writers
	}
	if _, got := s.read(nil); got != want {
		t.Errorf("self times of %d ns, want %d", got, want)
	}
}
