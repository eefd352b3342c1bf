package causal

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
)

// hammer calls f in many goroutines at a time, several times in each, while observations begin and
// end, and fails the test if that does not come to an end.
func hammer(t *testing.T, f func(worker, round int)) {
	t.Helper()
	const workers, rounds = 8, 200
	stop, stopped := make(chan struct{}), make(chan struct{})
	observations := []*virtualtime.Observation{nil, halfTheTime(t), halfTheTime(t), nil, halfTheTime(t)}
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			virtualtime.Current.Store(observations[i%len(observations)])
			select {
			case <-stop:
				unwatch()
				return
			case <-time.After(msec / 5):
			}
		}
	}()
	var done sync.WaitGroup
	for worker := range workers {
		done.Go(func() {
			for round := range rounds {
				f(worker, round)
			}
		})
	}
	finished := make(chan struct{})
	go func() { done.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(time.Minute):
		t.Error("a goroutine waits forever")
	}
	close(stop)
	<-stopped
}

func TestMutexConcurrentSafe(t *testing.T) {
	var m Mutex
	n, missed := 0, atomic.Int64{}
	hammer(t, func(worker, _ int) {
		switch {
		case worker%2 == 0:
			m.Lock()
		case !m.TryLock():
			missed.Add(1)
			return
		}
		n++
		if worker == 0 {
			done := make(chan struct{})
			go func() { m.Unlock(); close(done) }()
			<-done
			return
		}
		m.Unlock()
	})
	if n+int(missed.Load()) != 8*200 {
		t.Errorf("%d increments and %d misses, want 1600 in all", n, missed.Load())
	}
}

func TestRWMutexConcurrentSafe(t *testing.T) {
	var rw RWMutex
	var a, b int
	hammer(t, func(worker, _ int) {
		switch worker % 4 {
		case 0:
			rw.Lock()
			a++
			b++
			rw.Unlock()
		case 1:
			if rw.TryLock() {
				a++
				b++
				rw.Unlock()
			}
		case 2:
			if !rw.TryRLock() {
				return
			}
			if a != b {
				t.Errorf("a reader sees %d and %d in the middle of a change", a, b)
			}
			rw.RUnlock()
		case 3:
			l := rw.RLocker()
			l.Lock()
			if a != b {
				t.Errorf("a reader sees %d and %d in the middle of a change", a, b)
			}
			l.Unlock()
		}
	})
}

func TestWaitGroupConcurrentSafe(t *testing.T) {
	hammer(t, func(_, round int) {
		var wg WaitGroup
		var n atomic.Int64
		for range 2 { // it is used again
			for range 3 {
				wg.Go(func() { n.Add(1) })
			}
			wg.Add(1)
			go func() { defer wg.Done(); n.Add(1) }()
			wg.Wait()
		}
		if n.Load() != 8 {
			t.Errorf("round %d: Wait returns when %d of 8 are done", round, n.Load())
		}
	})
}

func TestCondConcurrentSafe(t *testing.T) {
	var m Mutex
	c := NewCond(&m)
	tokens := 0
	hammer(t, func(worker, round int) {
		m.Lock()
		defer m.Unlock()
		if worker%2 == 0 {
			tokens++
			if round%10 == 0 {
				c.Broadcast()
			} else {
				c.Signal()
			}
			return
		}
		for tokens == 0 {
			c.Wait()
		}
		tokens--
	})
	if tokens != 0 {
		t.Errorf("%d tokens are left, want 0", tokens)
	}
}

func TestOnceConcurrentSafe(t *testing.T) {
	var once [200]Once
	var calls [200]int
	hammer(t, func(_, round int) {
		once[round].Do(func() { calls[round]++ })
		if calls[round] != 1 {
			t.Errorf("Do returns when the function was called %d times, want 1", calls[round])
		}
	})
}

func TestGroupConcurrentSafe(t *testing.T) {
	hammer(t, func(int, int) {
		g, ctx := GroupWithContext(context.Background())
		g.SetLimit(2)
		n := 0
		var m Mutex
		for range 5 {
			g.Go(func() error {
				m.Lock()
				defer m.Unlock()
				n++
				return ctx.Err()
			})
		}
		if err := g.Wait(); err != nil || n != 5 {
			t.Errorf("Wait() = %v after %d of 5", err, n)
		}
	})
}

// Four send and four receive, in all ways there are. Nothing may get lost or come twice.
func TestChanConcurrentSafe(t *testing.T) {
	for _, places := range []int{0, 1, 7} {
		c := NewChan[[2]int](places)
		var sum [4]atomic.Int64 // by sender
		var count atomic.Int64
		hammer(t, func(worker, round int) {
			if worker < 4 {
				chanSend(t, c, [2]int{worker, round}, round)
				return
			}
			v := chanReceive(t, c, round)
			count.Add(1)
			sum[v[0]].Add(int64(v[1]))
		})
		for sender := range sum {
			if got := sum[sender].Load(); got != 199*200/2 {
				t.Errorf("places=%d: the values of sender %d add up to %d, want %d", places, sender, got, 199*200/2)
			}
		}
		if w, f := c.table.Waiting.N, c.table.Free.N; count.Load() != 800 || c.Len() != 0 || w != 0 || f > max(places, 8) {
			t.Errorf("places=%d: %d received, %d left, %d who wait and %d free places on the table", places, count.Load(), c.Len(), w, f)
		}
	}
}

func chanSend(t *testing.T, c Chan[[2]int], v [2]int, round int) {
	switch round % 4 {
	case 0:
		c.Send(v)
	case 1:
		for {
			ctx, cancel := context.WithTimeout(context.Background(), msec/20)
			err := c.SendContext(ctx, v)
			cancel()
			if err == nil {
				return
			}
		}
	case 2:
		if !c.TrySend(v) {
			c.Send(v)
		}
	case 3:
		it := c.Item(v)
		select {
		case c.Sending() <- it:
			c.Sent(it)
		case <-time.After(time.Minute):
			t.Error("no goroutine receives")
		}
	}
}

func chanReceive(t *testing.T, c Chan[[2]int], round int) (v [2]int) {
	switch round % 4 {
	case 0:
		v, _ = c.Receive()
	case 1:
		for {
			ctx, cancel := context.WithTimeout(context.Background(), msec/20)
			got, ok, err := c.ReceiveContext(ctx)
			cancel()
			if err == nil && ok {
				return got
			}
		}
	case 2:
		var ok bool
		if v, ok = c.TryReceive(); !ok {
			v, _ = c.Receive()
		}
	case 3:
		select {
		case it := <-c.Receiving():
			v, _ = c.Received(it)
		case <-time.After(time.Minute):
			t.Error("no goroutine sends")
		}
	}
	return v
}
