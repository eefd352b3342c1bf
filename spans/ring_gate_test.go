package spans

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func newSessionID() (id SessionID) {
	id.renew()
	return id
}

// TestClosedGateIsNeverWrong asks the gate before the ring: what the gate turns away the ring would
// not have wanted.
func TestClosedGateIsNeverWrong(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 8))
			r := NewRing(8000 + rnd.IntN(60_000))
			turned, wanted := 0, 0
			for i := range 8000 {
				name := fmt.Sprint("name ", min(rnd.IntN(40), rnd.IntN(40)))
				d := time.Duration(rnd.ExpFloat64() * 1e6)
				if rnd.IntN(500) == 0 {
					d = -d // by timestamps of the caller
				}
				draw, errors := rnd.Uint64(), rnd.IntN(50)/49
				closed := r.gate.closed(r.gate.slow.Get(name), draw, d, errors, 0)
				wants := r.wants(draw, name, d, errors)
				if closed && wants {
					t.Fatalf("seed %d: session %d, %q of %v with %d errors, is turned away and wanted", seed, i, name, d, errors)
				}
				if closed {
					turned++
				}
				if wants {
					wanted++
					rec := &SessionRecord{ID: newSessionID(), Name: name, Duration: d, Errors: errors, Spans: make([]SpanRecord, 1+rnd.IntN(20))}
					_ = r.Append(rec) // some are too large
					if rnd.IntN(10) == 0 {
						rec := *rec
						rec.Revision, rec.Spans, rec.sizeBytes = 1, make([]SpanRecord, rnd.IntN(30)), 0
						_ = r.Append(&rec)
					}
				}
				time.Sleep(time.Duration(rnd.IntN(200)) * time.Microsecond)
			}
			if left := 8000 - wanted; turned < left*8/10 {
				t.Errorf("seed %d: of %d sessions that were not wanted the gate turned %d away, want most", seed, left, turned)
			}
		})
	}
}

// TestGateKnowsManyNames holds that names without a word of their own are asked about.
func TestGateKnowsManyNames(t *testing.T) {
	g := newRingGate()
	for i := range gateNames + 100 {
		g.setSlow(fmt.Sprint(i), 1000)
	}
	g.ready[0].Store(1 << 62)
	g.below.Store(5)
	closed := func(name string, d time.Duration, errors int) bool {
		return g.closed(g.slow.Get(name), 5, d, errors, 0)
	}
	if !closed("17", 1000, 0) || closed("17", 1001, 0) || closed("17", 1000, 1) {
		t.Error("a name with a word is not turned away by it alone")
	}
	if closed(fmt.Sprint(gateNames+50), 1000, 0) || closed("never seen", 1000, 0) {
		t.Error("a name without a word is turned away")
	}
}

// TestUnwantedSessionsAreNotQueued ends many sessions and then a slow one and one that fails, which
// are kept.
func TestUnwantedSessionsAreNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := WrapTracerProvider(nil, WithStore(NewRing(20_000)))
		tr := tp.Tracer("scope")
		session := func(ctx context.Context, name string, d time.Duration) {
			ctx, root := tr.Start(ctx, name)
			_, child := tr.Start(ctx, "child")
			time.Sleep(d)
			child.End()
			root.End()
		}
		const many = 5000
		queued := 0
		for range many {
			session(t.Context(), "usual", time.Microsecond)
			queued = max(queued, tp.Queued())
		}
		if err := tp.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := tp.Dropped().Unwanted
		for range 100 {
			session(t.Context(), "usual", time.Microsecond)
			if got := tp.Queued(); got > 2 {
				t.Fatalf("%d sessions are queued", got)
			}
		}
		if got := tp.Dropped().Unwanted - before; got < 90 {
			t.Errorf("%d of 100 sessions were turned away, want most", got)
		}
		session(t.Context(), "usual", time.Hour)
		session(t.Context(), "new", time.Microsecond)
		ctx, root := tr.Start(t.Context(), "usual")
		_, late := tr.Start(ctx, "late")
		root.End()
		if tp.Queued() == 0 {
			t.Error("a session with a span that is open was turned away before the store was asked")
		}
		late.End()
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, d := range map[string]time.Duration{"usual": time.Hour, "new": 0} {
			if got := tp.Store().Sessions(Query{Name: name, MinDuration: d}); len(got) == 0 || len(got[0].Spans) != 2 {
				t.Errorf("the session %q of %v or more is not there, or not whole", name, d)
			}
		}
		if d := tp.Dropped(); d.QueueFull != 0 {
			t.Errorf("%+v, want none for want of room", d)
		}
	})
}

func TestGateAllocs(t *testing.T) {
	g := newRingGate()
	g.setSlow("root", 1000)
	if n := testing.AllocsPerRun(100, func() { g.closed(g.slow.Get("root"), 1, time.Second, 0, 0); g.setSlow("root", 2000) }); n != 0 {
		t.Errorf("the gate allocates %v times, want 0", n)
	}
}

// TestGateGoesByTheClock ends sessions whose timestamps are of long ago, which are as recent as
// any.
func TestGateGoesByTheClock(t *testing.T) {
	for name, base := range map[string]trace.TracerProvider{"sdk": sdktrace.NewTracerProvider(), "none": nil} {
		synctest.Test(t, func(t *testing.T) {
			tp := WrapTracerProvider(base, WithStore(NewRing(20_000)))
			defer tp.Shutdown(t.Context())
			tr := tp.Tracer("scope")
			session := func() {
				_, root := tr.Start(context.Background(), "root", trace.WithTimestamp(time.Now().Add(-2*time.Hour)))
				root.End(trace.WithTimestamp(time.Now().Add(-time.Hour)))
			}
			for i := range 4 * recentBurst {
				session()
				if i%100 == 0 {
					_ = tp.ForceFlush(t.Context())
				}
			}
			_ = tp.ForceFlush(t.Context()) // one may still wait for the worker
			before := tp.Dropped().Unwanted
			if before == 0 {
				t.Errorf("%s: no session is unwanted, and the gate is not shut", name)
			}
			const more = 50
			for range more {
				time.Sleep(2 * time.Second / recentRate)
				session()
				_ = tp.ForceFlush(t.Context())
			}
			if got := tp.Dropped().Unwanted - before; got != 0 {
				t.Errorf("%s: %d of %d sessions at a slow rate are unwanted, want none", name, got, more)
			}
		})
	}
}

// TestGateClosesBehindOne ends a session each 10 µs. Of all that end until the worker comes by, 5
// ms later, the ring wants one as a recent one, and no other waits for the worker.
func TestGateClosesBehindOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp := WrapTracerProvider(nil, WithStore(NewRing(20_000)))
		tr := tp.Tracer("scope")
		most, kept := 0, 0
		for i := range 400_000 {
			_, s := tr.Start(t.Context(), "session")
			time.Sleep(10 * time.Microsecond)
			s.End()
			if i == 300_000 { // the burst is over, and the sample needs few
				kept = int(tp.Dropped().Unwanted)
			}
			if i > 300_000 {
				most = max(most, tp.Queued())
			}
		}
		if err := tp.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if most > 5 {
			t.Errorf("%d sessions waited for the worker, want at most 5", most)
		}
		// One second at recentRate, and a few for the sample.
		if kept = 100_000 - (int(tp.Dropped().Unwanted) - kept); kept < recentRate-5 || kept > recentRate+20 {
			t.Errorf("%d sessions of a second were wanted, want about %d", kept, recentRate)
		}
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
