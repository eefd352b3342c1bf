package causal

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/spans"
)

// Tests of the types that hand virtual time over put a setting in force for the whole process, so
// none of them may run in parallel with another test.

// theRegion is the one that takes half its time in the hypothesis of watch.
const theRegion = ledger.RegionID(0)

func halfTheTime(t testing.TB) *virtualtime.Observation {
	t.Helper()
	s, err := ledger.NewPaidSetting(ledger.Hypothesis{Region: theRegion, Speedup: 0.5}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &virtualtime.Observation{Setting: s}
}

// watch puts a setting in force until the test ends, in which debts are not paid.
func watch(t testing.TB) *virtualtime.Observation {
	t.Helper()
	o := halfTheTime(t)
	virtualtime.Current.Store(o)
	t.Cleanup(unwatch)
	return o
}

func unwatch() {
	virtualtime.Current.Store(nil)
	virtualtime.Books.Clear(clock.Now())
}

// inRegion sleeps in a span of theRegion.
func inRegion(d time.Duration) {
	o, l := virtualtime.Here()
	f := l.Begin(o.Setting, clock.Now(), theRegion, nil, false)
	time.Sleep(d)
	f.End(o.Setting, clock.Now(), false)
}

// saved returns what the calling goroutine has saved.
func saved() time.Duration {
	o, l := virtualtime.Here()
	return time.Duration(l.Saved(o.Setting, clock.Now()))
}

func checkSaved(t *testing.T, who string, got, want time.Duration) {
	t.Helper()
	// A multiplication by the speed-up may round.
	if d := got - want; d < -time.Microsecond || d > time.Microsecond {
		t.Errorf("%s has saved %v, want %v", who, got, want)
	}
}

// A goroutine that owes a delay pays before it hands over, so that those that wait need not pay it
// again.
func TestPayingComesBeforeHandingOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, err := ledger.NewPaidSetting(ledger.Hypothesis{Region: theRegion, Speedup: 0.5}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var owed []time.Duration
		virtualtime.Current.Store(&virtualtime.Observation{Setting: s, Pay: func(l *ledger.Ledger, _ *spans.Span) int64 {
			owed = append(owed, time.Duration(l.Debt(s, clock.Now())).Round(msec))
			return 0
		}})
		defer unwatch()
		tp := spans.WrapTracerProvider(nil)
		defer func() {
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		ctx, span := tp.Tracer("relay").Start(context.Background(), "waits")
		defer span.End()
		_, l := virtualtime.Here()
		l.Current.Store(spans.SpanFromContext(ctx))
		check := func(what string, want ...time.Duration) {
			t.Helper()
			if diff := cmp.Diff(want, owed); diff != "" {
				t.Errorf("%s: debts at which to pay (-want +got):\n%s", what, diff)
			}
			owed = nil
		}

		// Another goroutine spends 10 ms in the region, which would save 5: all others owe them.
		go inRegion(10 * msec)
		time.Sleep(20 * msec)

		var m Mutex
		c := NewCond(&m)
		m.Lock()
		check("Lock")
		c.Signal()
		check("Signal with the lock", 5*msec)
		m.Unlock()
		check("Unlock", 5*msec)
		c.Signal()
		check("Signal", 5*msec)

		go func() {
			time.Sleep(msec)
			_, l := virtualtime.Here()
			l.Current.Store((*spans.Span)(nil)) // this one does not pay
			c.Broadcast()
		}()
		m.Lock()
		c.Wait()
		check("Wait", 0)
		m.Unlock()
		check("Unlock after Wait", 5*msec)

		q := NewChan[int](1)
		q.Send(1)
		check("Send", 5*msec)
		q.Receive()
		check("Receive", 5*msec)

		var once Once
		once.Do(c.Broadcast)
		check("Once, in the function and after it", 5*msec, 5*msec)
		once.Do(c.Broadcast)
		check("Once again")
	})
}

// checkAllocs fails the test if f allocates, observed or not.
func checkAllocs(t *testing.T, f func()) {
	t.Helper()
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations while nothing is observed, want 0", n)
	}
	watch(t)
	for range 10 {
		f()
	}
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%v allocations while something is observed, want 0", n)
	}
	unwatch()
}

// checkPanics fails the test unless f and the same with package sync or a channel panic alike.
func checkPanics(t *testing.T, what string, f, peer func()) {
	t.Helper()
	got, want := panicOf(f), panicOf(peer)
	if want == "" || got != want {
		t.Errorf("%s panics with %q, want %q", what, got, want)
	}
}

func panicOf(f func()) (message string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			message = p.Error()
		case string:
			message = p
		}
	}()
	f()
	return ""
}

// benchmark runs f while nothing is observed and while something is, and the peer.
func benchmark(b *testing.B, peer, f func()) {
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	run("peer", peer)
	run("unobserved", f)
	watch(b)
	run("observed", f)
	unwatch()
}

const msec = time.Millisecond
