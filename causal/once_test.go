package causal

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/goroutine"
)

// The function takes 10 ms. A caller that asks after 12 ms in the region, which would be 6, goes on
// at 10.
func TestOnceHandsOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		var once Once
		go once.Do(func() { time.Sleep(10 * msec) })
		inRegion(12 * msec)
		for range 2 {
			once.Do(func() { t.Error("called twice") })
			checkSaved(t, "who asks later", saved(), 2*msec)
		}
	})
}

func TestOnceRunsInTheTimeOfItsCaller(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		var once Once
		once.Do(func() { inRegion(10 * msec) })
		checkSaved(t, "the first one", saved(), 5*msec)
	})
}

func TestOncePanics(t *testing.T) {
	for range 2 {
		var once Once
		if got := panicOf(func() { once.Do(func() { panic("in f") }) }); got != "in f" {
			t.Errorf("Do panics with %q, want that of f", got)
		}
		once.Do(func() { t.Error("called again after a panic") })

		calls := 0
		f := OnceFunc(func() { calls++; panic("in f") })
		for range 3 {
			if got := panicOf(f); got != "in f" {
				t.Errorf("OnceFunc panics with %q, want that of f each time", got)
			}
		}
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
		watch(t)
	}
}

// A panic in the ledger of a caller that comes when the function has returned ends the plan, and
// not the program.
func TestOnceSurvivesItsLedger(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, []Option{unloaded}, "mode: overlap", "regions: [{span: region}]", calm)
		synctest.Wait()
		indebt(t, b, 0)
		var once Once
		calls := 0
		once.Do(func() { calls++ })
		elsewhere(func() {
			virtualtime.Books.Adopt(goroutine.Current(), &ledger.Ledger{}, nil) // one without a setting panics
			once.Do(func() { calls++ })
			virtualtime.Books.Forget(goroutine.Current())
		})
		synctest.Wait()
		if s := b.c.Status(); calls != 1 || s.State != StateAborted || !strings.HasPrefix(s.Reason, "panic: ") {
			t.Errorf("%d calls, and the plan is %s, %q; want 1, and aborted by a panic", calls, s.State, s.Reason)
		}
	})
}

func TestOnceValues(t *testing.T) {
	for range 2 {
		calls := 0
		v := OnceValue(func() int { calls++; return 7 })
		vs := OnceValues(func() (int, string) { calls++; return 8, "b" })
		for range 3 {
			one := v()
			two, three := vs()
			if one != 7 || two != 8 || three != "b" {
				t.Errorf("got %v, %v, %v, want 7, 8, b", one, two, three)
			}
		}
		if calls != 2 {
			t.Errorf("%d calls of two functions, want 2", calls)
		}
		watch(t)
	}
}

func TestOnceAllocs(t *testing.T) {
	var once Once
	checkAllocs(t, func() { once.Do(func() {}) })
}

func BenchmarkOnce(b *testing.B) {
	var peer sync.Once
	var once Once
	f := func() {}
	benchmark(b, func() { peer.Do(f) }, func() { once.Do(f) })
}
