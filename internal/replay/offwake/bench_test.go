package offwake

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// BenchmarkRead reads requests of two spans that wait for a lock and the network.
func BenchmarkRead(b *testing.B) {
	const requests = 20_000
	s := script{Recorder: trace.NewRecorder(0, 2)}
	for range 4 {
		s.Place(3)
	}
	s.Running(0, 1)
	s.Running(0, 2)
	at := int64(0)
	for i := range uint64(requests) {
		s.Open(at+1, 1, 10+2*i, 0, order)
		s.Open(at+2, 1, 11+2*i, 10+2*i, stock)
		s.wait(at+3, 1, trace.WaitMutex, 1)
		s.ready(at+40_000, 1, 2, 2)
		s.Start(at+41_000, 1, 0)
		s.wait(at+42_000, 1, trace.WaitNetwork, 3)
		s.ready(at+90_000, 1, 2, 0)
		s.Start(at+91_000, 1, 0)
		s.Close(at+92_000, 1, 11+2*i)
		s.Close(at+93_000, 1, 10+2*i)
		at += 100_000
	}
	r := s.Recording(at)
	for i := range r.Spans {
		r.Spans[i].ID = uint64(i + 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		Read(r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(r.Events)), "ns/event")
}
