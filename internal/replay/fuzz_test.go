package replay

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime/trace"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil"
)

// traceOf makes an execution trace of goroutines that share a lock and a channel, with spans and
// operations marked.
func traceOf(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer trace.Stop()
	var (
		mu   sync.Mutex
		lock mark.Object
		all  sync.WaitGroup
	)
	jobs := make(chan uint64)
	for range 3 {
		all.Go(func() {
			for id := range jobs {
				mark.LogStart("shop", mark.Span{ID: id, SpanID: id, Name: "job"})
				lock.Begin(mark.Lock, 0)
				mu.Lock()
				lock.Done(mark.Lock, 0)
				time.Sleep(50 * time.Microsecond)
				lock.Done(mark.Unlock, 0)
				mu.Unlock()
				mark.LogProgress("done")
				mark.LogEnd("shop", id, "")
			}
		})
	}
	for i := range 60 {
		jobs <- uint64(i + 1)
	}
	close(jobs)
	all.Wait()
	trace.Stop()
	return b.Bytes()
}

// studied reads a trace and simulates it, whole and in parts.
func studied(text []byte) error {
	rec, err := replaytrace.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	Countable(rec)
	Count(rec, "job")
	s, err := NewStudy(StudyConfig{Speedups: []float64{0.5}, Regions: 2})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, w := range append(slices.Collect(rec.Windows(3)), rec) {
		x, err := s.analyze(ctx, w) // Add would make an error of a panic
		if err != nil {
			return err
		}
		s.windows = append(s.windows, x)
	}
	s.Result()
	return nil
}

// TestDamaged cuts a trace, and changes bytes of it: that is an error, or an answer, and no panic.
func TestDamaged(t *testing.T) {
	whole := traceOf(t)
	if err := studied(whole); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 200 {
		text := bytes.Clone(whole)
		if r.IntN(2) == 0 {
			text = text[:r.IntN(len(text))]
		}
		for range r.IntN(4) {
			if len(text) > 16 {
				text[16+r.IntN(len(text)-16)] = byte(r.Uint32())
			}
		}
		if err := studied(text); err != nil {
			failed++
			if !errors.Is(err, replaytrace.ErrTrace) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v: must wrap ErrTrace, or that of the context", err)
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(traceOf(f))
	f.Fuzz(func(_ *testing.T, text []byte) { _ = studied(text) })
}
