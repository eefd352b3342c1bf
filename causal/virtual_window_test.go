package causal

import (
	"context"
	"testing"
	"time"
)

// A progress point that is hardly ever visited keeps no other waiting, in the first turn nor later.
func TestRarePointKeepsNobodyWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newController(t, WithVirtual(true))
		tracer := newProvider(t, c).Tracer("shop")
		request := func(name string, takes time.Duration) {
			ctx, root := tracer.Start(context.Background(), name)
			_, work := tracer.Start(ctx, "work of "+name)
			time.Sleep(takes)
			work.End()
			root.End()
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ctx.Err() == nil; i++ {
				request("often", 50*time.Millisecond)
				if i%40 == 0 {
					request("rarely", 50*time.Millisecond)
				}
			}
		}()
		samples := func(progress string) (n int) {
			for _, curve := range c.Profile().Curves {
				if curve.Progress == progress && curve.Metric == MetricThroughput && curve.Region.Span == "work of often" {
					n = curve.Effects[0].Samples
				}
			}
			return n
		}
		time.Sleep(20 * time.Second)
		if got := samples("often"); got < leastSamples {
			t.Errorf("after 20 s: %d samples at the point that is visited often, want %d or more", got, leastSamples)
		}
		time.Sleep(2 * time.Minute)
		if got := samples("often"); got < 60 {
			t.Errorf("after 140 s: %d samples at the point that is visited often, want one a second, 60 or more", got)
		}
		if got := samples("rarely"); got < leastSamples {
			t.Errorf("after 140 s: %d samples at the point that is visited every 2 s, want %d or more", got, leastSamples)
		}
		cancel()
		<-done
	})
}
