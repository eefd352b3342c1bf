package causal

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
)

// The analysis of a service that answers ten thousand requests a second takes no more memory than is kept free for it.
func TestAnalysisIsBounded(t *testing.T) {
	tr := newProvider(t, newController(t)).Tracer("service")
	var stop atomic.Bool
	var wg sync.WaitGroup
	requests := make(chan struct{}, 100)
	var mu Mutex
	for range 8 {
		wg.Go(func() {
			for range requests {
				ctx, root := tr.Start(context.Background(), "GET /")
				for _, name := range []string{"parse", "query", "render"} {
					_, s := tr.Start(ctx, name)
					mu.Lock()
					mu.Unlock() //nolint:staticcheck // what matters is the mark
					s.End()
				}
				root.End()
			}
		})
	}
	wg.Go(func() {
		defer close(requests)
		for tick := time.Tick(time.Millisecond); !stop.Load(); <-tick {
			for range 10 {
				requests <- struct{}{}
			}
		}
	})
	w, err := record.Take(t.Context(), 3*time.Second, thoroughly(4, 1)<<20)
	stop.Store(true)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	study := newReplayed()
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // what is in use, more than what could be collected
	before, peak := inUse(), int64(0)
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for tick := time.Tick(5 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick:
				peak = max(peak, inUse()-before)
			}
		}
	})
	err = study.add(t.Context(), w)
	close(done)
	watch.Wait()
	if err != nil {
		t.Fatal(err)
	}
	perByte := float64(peak) / float64(w.Bytes())
	t.Logf("%v, %.1f MiB of trace, cut %v: %.0f MiB at the peak, %.1f bytes for each", w.Length.Round(time.Millisecond), float64(w.Bytes())/(1<<20), w.Cut, float64(peak)/(1<<20), perByte)
	if perByte > record.PerByte {
		t.Errorf("the analysis takes %.1f bytes for each of the trace, want at most %d", perByte, record.PerByte)
	}
}

// inUse is what the heap has, what could be collected included.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Near the memory limit nothing is recorded of its own accord, and the status has the reason.
func TestNoRecordingNearTheMemoryLimit(t *testing.T) {
	c := newController(t)
	if why := c.keepAway(); why != "" {
		t.Skip("kept away already: ", why)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(inUse() + record.Room/2)
	if why := c.keepAway(); !strings.Contains(why, "of memory are left to the limit") {
		t.Errorf("keepAway() = %q, want that there is too little memory", why)
	}
}
