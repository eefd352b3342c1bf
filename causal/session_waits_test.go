package causal

import (
	"context"
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
	waits, ok := c.Profile().WaitsOf(profile.Region{Scope: "shop", Name: "waiter"})
	if !ok || len(waits.Waits) == 0 || waits.Spans == 0 {
		t.Fatalf("WaitsOf(waiter) = %+v, %v", waits, ok)
	}
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
