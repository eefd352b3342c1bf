package viewer

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var answered atomic.Int64
		var clients sync.WaitGroup
		for range 64 {
			clients.Go(func() {
				for p.wait(ctx) { // false where the turn would come after ctx has ended
					answered.Add(1)
				}
			})
		}
		clients.Wait()
		if got, most := answered.Load(), int64(paceBurst+10*paceRate); got < most-1 || got > most+1 {
			t.Errorf("%d requests answered in 10 s, want %d", got, most)
		}
		if p.waiting.Load() != 0 {
			t.Errorf("%d wait after all have gone", p.waiting.Load())
		}
	})
}

func TestPaceRefusesAboveTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		for range paceBurst {
			p.wait(t.Context())
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range paceWaiting {
			go p.wait(ctx)
		}
		synctest.Wait()
		if p.wait(ctx) {
			t.Error("a turn although the queue is full")
		}
		cancel()
	})
}
