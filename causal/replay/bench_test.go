package replay

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/trace"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
)

// benchTrace returns an execution trace to analyse: the file that REPLAY_TRACE names, or else that of a service whose requests
// pass through a channel, workers and a lock, with spans and operations marked: some 100,000 events.
func benchTrace(b *testing.B) []byte {
	b.Helper()
	if name := os.Getenv("REPLAY_TRACE"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	var text bytes.Buffer
	if err := trace.Start(&text); err != nil {
		b.Skipf("this process is being traced: %v", err)
	}
	defer trace.Stop()
	type request struct {
		id      uint64
		answers chan bool
	}
	var (
		mu       sync.Mutex
		lock     mark.Object
		requests = make(chan request)
		clients  sync.WaitGroup
		workers  sync.WaitGroup
	)
	for range 4 {
		workers.Go(func() {
			for r := range requests {
				mark.LogStart("shop", mark.Span{ID: r.id + 1, Parent: r.id, SpanID: r.id + 1, Name: "reserve"})
				lock.Begin(mark.Lock, 0)
				mu.Lock()
				lock.Done(mark.Lock, 0)
				until := time.Now().Add(5 * time.Microsecond)
				for now := time.Now(); now.Before(until); now = time.Now() {
					runtime.KeepAlive(now)
				}
				lock.Done(mark.Unlock, 0)
				mu.Unlock()
				mark.LogEnd("shop", r.id+1, "")
				r.answers <- true
			}
		})
	}
	for c := range uint64(8) {
		clients.Go(func() {
			answers := make(chan bool)
			for i := range uint64(800) {
				id := 1 + 2*(c<<32|i)
				mark.LogStart("shop", mark.Span{ID: id, SpanID: id, Name: "order"})
				requests <- request{id, answers}
				<-answers
				mark.LogEnd("shop", id, "")
				mark.LogProgress("ordered")
			}
		})
	}
	clients.Wait()
	close(requests)
	workers.Wait()
	trace.Stop()
	return text.Bytes()
}

func benchRecording(b *testing.B) *Recording {
	b.Helper()
	rec, err := Read(bytes.NewReader(benchTrace(b)))
	if err != nil {
		b.Fatal(err)
	}
	return rec
}

// perEvent tells what b has taken for each of the events of a trace.
func perEvent(b *testing.B, events int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
	b.ReportMetric(float64(events), "events")
	b.ReportAllocs()
}

func BenchmarkRead(b *testing.B) {
	text := benchTrace(b)
	events := 0
	for b.Loop() {
		rec, err := Read(bytes.NewReader(text))
		if err != nil {
			b.Fatal(err)
		}
		events = rec.Traced
	}
	perEvent(b, events)
}

func BenchmarkTranslate(b *testing.B) {
	rec := benchRecording(b)
	for b.Loop() {
		newProgram(rec, true)
	}
	perEvent(b, rec.Traced)
}

// BenchmarkSimulate is one hypothesis.
func BenchmarkSimulate(b *testing.B) {
	rec := benchRecording(b)
	p := newProgram(rec, true)
	c := change{}
	if busy := p.busiest(1, nil); len(busy) > 0 {
		c.factors = map[int32]float64{busy[0]: 0.5}
	}
	steps := 0
	for b.Loop() {
		steps = simulate(p, c, rec.End-rec.Start).steps
	}
	perEvent(b, rec.Traced)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(1, steps)), "ns/step")
}

// BenchmarkStudy is all that is asked of one window, see [StudyConfig].
func BenchmarkStudy(b *testing.B) {
	rec := benchRecording(b)
	for b.Loop() {
		s, err := NewStudy(StudyConfig{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Add(context.Background(), rec); err != nil {
			b.Fatal(err)
		}
	}
	perEvent(b, rec.Traced)
}
