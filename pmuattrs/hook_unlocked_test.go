//go:build otelprof_runtime

package pmuattrs

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// invalid is what a span has whose numbers would be in doubt.
func invalid(h *Hook) map[attribute.Key]any {
	return map[attribute.Key]any{naming.CounterSourceKey: string(h.Source()), naming.CounterValidKey: false}
}

// A span that never stops has counts. On a busy machine each may be preempted, but not all of them.
func TestUnlockedCounts(t *testing.T) {
	h := realHook(t, WithoutLock())
	tr, ended := provide(t, h)
	for range 1000 {
		_, s := tr.Start(t.Context(), "price")
		if isLocked() {
			t.Fatal("the goroutine is locked")
		}
		s.End()
	}
	stats := h.Stats()
	if stats.Counted == 0 || stats.Counted+stats.Stopped != 1000 {
		t.Errorf("Stats() = %+v, want counts, and but for spans that stopped nothing else", stats)
	}
	valid := uint64(0)
	for _, s := range ended.Ended() {
		for _, kv := range s.Attributes() {
			if kv.Key == naming.CounterValidKey && kv.Value.AsBool() {
				valid++
				if len(s.Attributes()) < 4 {
					t.Errorf("valid without counts: %v", s.Attributes())
				}
			}
		}
	}
	if valid != stats.Counted {
		t.Errorf("%d valid spans, want the %d that were counted", valid, stats.Counted)
	}
	if isLocked() || sched.Watching() != 0 {
		t.Errorf("the goroutine is still locked, or %d are watched", sched.Watching())
	}
}

// sink keeps a loop from being empty.
var sink atomic.Uint64

// A span that waits or is preempted has none.
func TestUnlockedStops(t *testing.T) {
	for name, stop := range map[string]func(){
		"sleep": func() { time.Sleep(time.Millisecond) },
		"yield": runtime.Gosched,
		"preempted": func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			var others atomic.Bool
			go func() { others.Store(true) }()
			for !others.Load() {
				sink.Add(1)
			}
		},
		"collector": func() {
			var done atomic.Bool
			go func() { runtime.GC(); done.Store(true) }()
			for !done.Load() {
				sink.Add(1)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := realHook(t, WithoutLock())
			tr, ended := provide(t, h)
			_, s := tr.Start(t.Context(), name)
			stop()
			s.End()
			if diff := cmp.Diff(invalid(h), attributesOf(t, ended, name)); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if got := h.Stats(); got.Stopped != 1 || got.Counted != 0 {
				t.Errorf("Stats() = %+v, want one that stopped", got)
			}
			if r := h.Regions(); len(r) != 1 || r[0].Spans != 0 || r[0].Invalid != 1 {
				t.Errorf("Regions() = %+v, want one with an invalid span", r)
			}
		})
	}
}

// No goroutine is locked, so a span that ends elsewhere leaves nothing to undo, and those to come
// are measured.
func TestUnlockedEndOnOtherGoroutine(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000), WithoutLock())
	tr, ended := provide(t, h)
	for range 3 {
		_, s := tr.Start(t.Context(), "request")
		elsewhere(func() { s.End() })
	}
	if isLocked() {
		t.Error("the goroutine is locked")
	}
	if got, want := h.Stats(), (Stats{OtherGoroutine: 3, Threads: 1}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	for _, s := range ended.Ended() {
		for _, kv := range s.Attributes() {
			if kv.Key == naming.CounterValidKey && kv.Value.AsBool() {
				t.Errorf("attributes %v, want it invalid", s.Attributes())
			}
		}
	}
}

// The application's own locks are left alone, and locked spans that do not stop are counted.
func TestUnlockedLeavesTheApplicationsLocks(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000), WithoutLock())
	tr, _ := provide(t, h)
	elsewhere(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range 100 {
			span(tr, "inside")
			if !isLocked() {
				t.Fatal("a span undid the application's lock")
			}
		}
	})
	if got := h.Stats(); got.Counted == 0 {
		t.Errorf("Stats() = %+v, want counts", got)
	}
}

func TestUnlockedConcurrentSafe(t *testing.T) {
	h := realHook(t, WithoutLock())
	tr, _ := provide(t, h)
	const goroutines, each = 16, 100
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				_, s := tr.Start(t.Context(), "step")
				switch (g + i) % 4 {
				case 0:
					runtime.Gosched()
				case 1:
					time.Sleep(time.Microsecond)
				case 2:
					elsewhere(func() { s.End() })
					continue
				}
				s.End()
			}
		})
	}
	wg.Wait()
	got := h.Stats()
	const all = goroutines * each
	if got.OtherGoroutine != all/4 || got.Stopped < all/2 || got.Stopped+got.Counted != all*3/4 {
		t.Errorf("Stats() = %+v, want a quarter of %d elsewhere, half or more stopped, and the rest counted", got, all)
	}
}
