package causal

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

func knownLedgers() (n int) {
	for i := range virtualtime.Books.Shards {
		shard := &virtualtime.Books.Shards[i]
		shard.Mu.Lock()
		n += len(shard.Of)
		shard.Mu.Unlock()
	}
	return n
}

// heap is what is in use when what can be collected is, in MiB.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// forgetToEnd starts spans that are never ended, with -long a million: most on one goroutine, fifty
// thousand on one each.
func forgetToEnd(tr trace.Tracer) {
	ctx := context.Background()
	for range thorough.Of(950_000, 100_000) {
		_, _ = tr.Start(ctx, "forgot")
	}
	var wg sync.WaitGroup
	for range 50 {
		for range 1000 {
			wg.Go(func() { _, _ = tr.Start(ctx, "forgot") })
		}
		wg.Wait()
	}
}

// A ledger is not forgotten between its making and its first span, where a run sweeps meanwhile.
func TestNewLedgersStay(t *testing.T) {
	inBubble(t, func(t *testing.T) { // so that none has been active for long
		defer virtualtime.Books.Clear(clock.Now())
		s := ledger.NewSetting(1)
		first := virtualtime.Books.Of(1, nil, s)
		child := virtualtime.Books.Of(2, first.Begin(s, clock.Now(), 0, nil, false), s)
		alone := virtualtime.Books.Of(3, nil, s)
		virtualtime.Books.Sweep(clock.Now(), virtualtime.ForgetAfter, virtualtime.ForgetOpen)
		if child.Gone() || alone.Gone() {
			t.Errorf("forgotten at once: that of a child %v, that of others %v", child.Gone(), alone.Gone())
		}
	})
}

// A million spans that are never ended take no memory while nothing is observed, and a fixed amount
// while an overlap is; the experiment knows of them only where they could matter.
func TestAMillionSpansThatNeverEnd(t *testing.T) {
	for name, most := range map[string]float64{"idle": 4, "overlap": 64} {
		t.Run(name, func(t *testing.T) {
			tr := newProvider(t, newController(t)).Tracer("leak")
			virtualtime.Books.Clear(clock.Now())
			before := heap()
			if name == "overlap" {
				watch(t)
			}
			forgetToEnd(tr)
			grown, known := heap()-before, knownLedgers()
			t.Logf("%s: %.1f MiB, %d ledgers", name, grown, known)
			if grown > most {
				t.Errorf("%s: %.1f MiB after a million spans, want at most %.0f", name, grown, most)
			}
			if known > virtualtime.MostLedgers || name == "idle" && known != 0 {
				t.Errorf("%s: %d ledgers", name, known)
			}
			unwatch()
			if grown := heap() - before; grown > 4 {
				t.Errorf("%s: %.1f MiB afterwards", name, grown)
			}
		})
	}
}

// Ten thousand streams, each with a span that is open for a day in which experiments come and go,
// and with a short span now and then: neither ledgers nor settings add up.
func TestTenThousandSpansOpenForADay(t *testing.T) {
	const streams, perHour = 10_000, 5
	hours := thorough.Of(24, 3)
	inBubble(t, func(t *testing.T) {
		// Sessions are another matter, see package spans.
		none := spans.WithSessionFilter(func(context.Context, string) bool { return false })
		tr := newProvider(t, newController(t), none).Tracer("streams")
		var wg sync.WaitGroup
		wake := make([]chan struct{}, streams)
		defer unwatch()
		change := func(freed *atomic.Int32) {
			o := halfTheTime(t)
			runtime.AddCleanup(o.Setting, func(struct{}) { freed.Add(1) }, struct{}{})
			virtualtime.Current.Store(o)
		}
		var freed atomic.Int32
		change(&freed)
		for i := range wake {
			wake[i] = make(chan struct{})
			wg.Go(func() {
				ctx, s := tr.Start(context.Background(), "stream")
				defer s.End()
				for range wake[i] {
					_, s := tr.Start(ctx, "message")
					s.End()
				}
			})
		}
		var first float64
		changed := int32(1)
		for hour := range hours {
			for part := range perHour {
				virtualtime.Current.Store(nil)
				virtualtime.Books.Sweep(clock.Now(), virtualtime.ForgetAfter, virtualtime.ForgetOpen)
				change(&freed)
				changed++
				for i := part; i < streams; i += perHour {
					wake[i] <- struct{}{}
				}
				time.Sleep(time.Hour / perHour)
			}
			if hour == 1 {
				first = heap()
			}
		}
		last := heap()
		for range 100 {
			if freed.Load() >= changed-3 {
				break
			}
			runtime.GC()
		}
		t.Logf("%.1f MiB in the second hour, %.1f in the last; %d of %d settings collected, %d ledgers", first, last, freed.Load(), changed, knownLedgers())
		if last > first+1 {
			t.Errorf("%.1f MiB in the second hour, %.1f in the last", first, last)
		}
		if freed.Load() < changed-3 {
			t.Errorf("%d of %d settings are collected", freed.Load(), changed)
		}
		for _, c := range wake {
			close(c)
		}
		wg.Wait()
	})
}

// More goroutines than there is room for: the rest books nothing, and the experiment does not
// count.
func TestMoreGoroutinesThanLedgers(t *testing.T) {
	inBubble(t, func(t *testing.T) { // where no ledger grows old, however slow the machine is
		o := watch(t)
		tr := newProvider(t, newController(t)).Tracer("crowd")
		var open, ended sync.WaitGroup
		leave := make(chan struct{})
		for range virtualtime.MostLedgers + 5000 {
			open.Add(1)
			ended.Go(func() {
				_, s := tr.Start(context.Background(), "crowd")
				var m Mutex // which does with or without a ledger
				m.Lock()
				open.Done()
				<-leave
				m.Unlock()
				s.End()
			})
		}
		open.Wait()
		if got := knownLedgers(); got > virtualtime.MostLedgers {
			t.Errorf("%d ledgers, want at most %d", got, virtualtime.MostLedgers)
		}
		if got := o.Setting.Counts().Lost; got < 5000 {
			t.Errorf("Lost = %d, want each of the 5000 that have none", got)
		}
		close(leave)
		ended.Wait()
		e := experiment.Experiment{}
		(&engine.Overlap{Observation: o, Region: &classes.Class{}}).Look(&e)
		if e.Spoiled == "" {
			t.Error("the experiment counts")
		}
	})
}

// Short goroutines make room for each other, and those that have ended long ago cost no experiment
// its place.
func TestLedgersOfEndedGoroutinesMakeRoom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		o := watch(t)
		for id := range uint64(thorough.Of(6, 3) * virtualtime.MostLedgers / 2) {
			if id%virtualtime.Shards == 0 && id%(virtualtime.MostLedgers/2) == 0 {
				time.Sleep(2 * virtualtime.ForgetAfter)
			}
			l := virtualtime.Books.Of(goroutine.ID(id), nil, o.Setting)
			if l == nil {
				t.Fatalf("no room for goroutine %d, though the others have ended", id)
			}
			l.Begin(o.Setting, clock.Now(), ledger.NoRegion, nil, false).End(o.Setting, clock.Now(), false)
		}
		if got := knownLedgers(); got > virtualtime.MostLedgers {
			t.Errorf("%d ledgers, want at most %d", got, virtualtime.MostLedgers)
		}
	})
}

// What a span costs does not depend on how many were never ended before it.
func BenchmarkSpanAfterLeak(b *testing.B) {
	for _, leaked := range []int{0, 100, 100_000} {
		b.Run("leaked="+map[int]string{0: "0", 100: "100", 100_000: "100000"}[leaked], func(b *testing.B) {
			virtualtime.Current.Store(halfTheTime(b))
			defer unwatch()
			tr := newProvider(b, newController(b)).Tracer("leak")
			ctx := context.Background()
			for range leaked {
				_, _ = tr.Start(ctx, "forgot")
			}
			b.ReportAllocs()
			for b.Loop() {
				_, s := tr.Start(ctx, "x")
				s.End()
			}
		})
	}
}
