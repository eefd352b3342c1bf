package causal

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// A request that waits for a lock finds in its session who held it, and so does its region in the
// profile: with a plain sync.Mutex, in a program that otelprof has not built.
func TestSessionWaits(t *testing.T) {
	const held = 3 * time.Millisecond
	c := newController(t)
	ring := spans.NewRing(16 << 20)
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(c.Hook()), spans.WithStore(ring)) // whose spans have IDs
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	tr := tp.Tracer("shop")
	var mu sync.Mutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for _, name := range []string{"holder", "waiter"} {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, s := tr.Start(context.Background(), name)
				mu.Lock()
				if name == "holder" {
					time.Sleep(held)
				}
				mu.Unlock()
				s.End()
				time.Sleep(time.Millisecond)
			}
		})
	}
	err := c.Record(t.Context(), 500*time.Millisecond)
	close(stop)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}

	holder := profile.Region{Scope: "shop", Name: "holder"}
	byHolder := func(w SpanWait) bool { return w.Kind == "lock" && w.By == holder && w.For > held/3 }
	if !testutil.Eventually(func() bool {
		for _, s := range ring.Sessions(spans.Query{Name: "waiter"}) {
			for _, w := range c.SessionWaits(s).Waits {
				if byHolder(w) && w.BySpan.IsValid() && w.At+w.For <= s.Duration+time.Millisecond {
					return true
				}
			}
		}
		return false
	}) {
		t.Error("no session of waiter has a wait for the lock that holder held")
	}
	all := c.Profile().Waits
	i := slices.IndexFunc(all, func(w profile.RegionWaits) bool { return w.Region.Name == "waiter" })
	if i < 0 || len(all[i].Waits) == 0 || all[i].Spans == 0 {
		t.Fatalf("waits %+v, want those of waiter", all)
	}
	waits := all[i]
	longest := waits.Waits[0]
	if longest.Kind != "lock" || longest.By != holder || longest.Total > waits.Time {
		t.Errorf("the longest wait of waiter in %v is %+v, want that for the lock, by holder", waits.Time, longest)
	}
	begun := c.recorder.Status().Last.Begun
	half := &spans.SessionRecord{Start: begun.Add(-time.Millisecond), Duration: 2 * time.Millisecond}
	if got := c.SessionWaits(half); got.Recorded != 0.5 {
		t.Errorf("a session that began as long before the recording as it went on is recorded to %v", got.Recorded)
	}
	old := &spans.SessionRecord{Start: time.Now().Add(-time.Hour), Duration: time.Second}
	if got := c.SessionWaits(old); got.Recorded != 0 || len(got.Waits) > 0 {
		t.Errorf("SessionWaits of what was before = %+v", got)
	}
}

// tailOf is why the slowest requests of a region are slow, zero where that is not known.
func tailOf(p profile.Profile, name string) (tail profile.Tail) {
	if i := slices.IndexFunc(p.Tails, func(t profile.Tail) bool { return t.Region.Name == name }); i >= 0 {
		tail = p.Tails[i]
	}
	return tail
}

// A job that holds a lock for 40 ms now and then is why the slowest requests are slow, though most
// requests never meet it.
func TestTailOf(t *testing.T) {
	c := newController(t)
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(c.Hook()))
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	tr := tp.Tracer("shop")
	var mu sync.Mutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	loop := func(name string, every time.Duration, work func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(every):
				}
				_, s := tr.Start(context.Background(), name)
				work()
				s.End()
			}
		})
	}
	for range 3 {
		loop("request", time.Millisecond, func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // it is held by the job
			time.Sleep(time.Millisecond)
		})
	}
	loop("job", 100*time.Millisecond, func() {
		mu.Lock()
		time.Sleep(40 * time.Millisecond)
		mu.Unlock()
	})
	defer wg.Wait()
	defer close(stop)
	var tail profile.Tail
	for range 3 { // a machine that stops for as long is a reason, too
		if err := c.Record(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		if tail = tailOf(c.Profile(), "request"); len(tail.Parts) == 0 {
			t.Fatalf("no tail of request: %+v", tail)
		}
		if first := tail.Parts[0]; first.Kind == "lock" && first.By.Name == "job" && tail.Slow > 2*tail.Typical && len(tail.Examples) > 0 {
			return
		}
	}
	t.Errorf("the slowest are slow by %+v of %+v, want the lock that the job held", tail.Parts[0], tail)
}
