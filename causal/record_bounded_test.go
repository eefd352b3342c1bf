package causal

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/testutil/heapuse"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

func nothingSlowed() ([]float64, []profile.Region) { return nil, nil }

// The analysis of a service that answers ten thousand requests a second takes no more memory than
// is kept free for it.
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
	w, err := record.Take(t.Context(), 3*time.Second, thorough.Of(4096, 512)<<10)
	stop.Store(true)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	const mostLive = 20.0
	perByte := math.Inf(1)
	for try := 0; try < 3 && perByte > mostLive; try++ { // what others do on the machine keeps garbage alive for longer
		study := newReplayed(nothingSlowed)
		peak := heapuse.Peak(20, func() { err = study.add(t.Context(), w) })
		if err != nil {
			t.Fatal(err)
		}
		perByte = min(perByte, float64(peak)/float64(w.Bytes()))
		t.Logf("%v, %.1f MiB of trace, cut %v: %.0f MiB at the peak, %.1f bytes for each", w.Length.Round(time.Millisecond), float64(w.Bytes())/(1<<20), w.Cut, float64(peak)/(1<<20), perByte)
	}
	if perByte > mostLive {
		t.Errorf("the analysis takes %.1f bytes for each of the trace, want at most %v", perByte, mostLive)
	}
}

// Near the memory limit nothing is recorded, neither of its own accord nor on demand, and the
// reason is said.
func TestNoRecordingNearTheMemoryLimit(t *testing.T) {
	c := newController(t)
	if why := c.keepAway(); why != "" {
		t.Skip("kept away already: ", why)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(heapuse.Now() + record.Room/2)
	if why := c.keepAway(); !strings.Contains(why, "of memory are left to the limit") {
		t.Errorf("keepAway() = %q, want that there is too little memory", why)
	}
	for name, record := range map[string]func() error{
		"Record":      func() error { return c.Record(t.Context(), MinWindow) },
		"RecordTrace": func() error { _, err := c.RecordTrace(t.Context(), MinWindow, false); return err },
	} {
		if err := record(); !errors.Is(err, ErrRecording) || !strings.Contains(err.Error(), "of memory are left to the limit") {
			t.Errorf("%s: error %v, want that there is too little memory", name, err)
		}
	}
	if _, err := engine.RecordWaits(t.Context(), engine.LeastRecorded); err == nil || !strings.Contains(err.Error(), "of memory are left to the limit") {
		t.Errorf("recordWaits: error %v, want that there is too little memory", err)
	}
}
