package causal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
)

// A pipeline of two stages for 10 elements, one stage in the region. What is expected follows from
//
//	sent[k] = max(sent[k-1] + make, received[k-places])
//	received[k] = max(sent[k], received[k-1] + use)
//
// with half the time for the stage in the region; without places sent and received are one.
func TestChanHandsOver(t *testing.T) {
	work := func(inside bool, d time.Duration) {
		if inside {
			inRegion(d)
		} else {
			time.Sleep(d)
		}
	}
	const elements = 10
	virtual := func(d time.Duration, inside bool) time.Duration {
		if inside {
			return d / 2
		}
		return d
	}
	// theory returns when the last is sent and when the last is used.
	theory := func(places int, produce, use time.Duration) (sent, used time.Duration) {
		var s, r [elements + 1]time.Duration
		for k := 1; k <= elements; k++ {
			s[k] = s[k-1] + produce
			switch {
			case places == 0 && k > 1:
				s[k] = max(s[k], r[k-1]+use)
			case places > 0 && k > places:
				s[k] = max(s[k], r[k-places])
			}
			r[k] = s[k]
			if k > 1 {
				r[k] = max(r[k], r[k-1]+use)
			}
		}
		return s[elements], r[elements] + use
	}
	ways := map[string]struct {
		send    func(Chan[int], int)
		receive func(Chan[int]) int
	}{
		"plain": {
			func(c Chan[int], v int) { c.Send(v) },
			func(c Chan[int]) int { v, _ := c.Receive(); return v },
		},
		"context": {
			func(c Chan[int], v int) { _ = c.SendContext(context.Background(), v) },
			func(c Chan[int]) int { v, _, _ := c.ReceiveContext(context.Background()); return v },
		},
		"select": {
			func(c Chan[int], v int) {
				it := c.Item(v)
				select {
				case c.Sending() <- it:
					synctest.Wait() // the receiver is first to say what it got, or else it is not known
					c.Sent(it)
				case <-time.After(time.Hour):
				}
			},
			func(c Chan[int]) int {
				select {
				case it := <-c.Receiving():
					v, _ := c.Received(it)
					return v
				case <-time.After(time.Hour):
					return -1
				}
			},
		},
	}
	for way, by := range ways {
		for _, places := range []int{0, 1, 2, 100} {
			for _, faster := range []string{"producer", "consumer"} {
				for _, slower := range []string{"producer", "consumer"} {
					produce, use := 10*msec, 7*msec
					if slower == "consumer" {
						produce, use = 3*msec, 10*msec
					}
					t.Run(fmt.Sprintf("%s/places=%d/slower=%s/faster=%s", way, places, slower, faster), func(t *testing.T) {
						inBubble(t, func(t *testing.T) {
							o := watch(t)
							c := NewChan[int](places)
							sent, used := theory(places, produce, use)
							vSent, vUsed := theory(places, virtual(produce, faster == "producer"), virtual(use, faster == "consumer"))
							var done WaitGroup
							start := time.Now()
							done.Go(func() {
								for k := range elements {
									work(faster == "producer", produce)
									by.send(c, k)
								}
								if got := time.Since(start); got != sent {
									t.Errorf("the producer took %v, want %v", got, sent)
								}
								checkSaved(t, "the producer", saved(), sent-vSent)
							})
							done.Go(func() {
								for k := range elements {
									if got := by.receive(c); got != k {
										t.Errorf("received %d, want %d", got, k)
									}
									work(faster == "consumer", use)
								}
								if got := time.Since(start); got != used {
									t.Errorf("the consumer took %v, want %v", got, used)
								}
								checkSaved(t, "the consumer", saved(), used-vUsed)
							})
							done.Wait()
							if got := o.Setting.Counts(); got.Unattributed != 0 {
								t.Errorf("%v of waiting is not attributed, want none", time.Duration(got.Unattributed))
							}
						})
					})
				}
			}
		}
	}
}

// Of several senders, each has its own time, and one that waits for a place gets it from the
// receiver that has emptied it.
func TestChanHandsOverToEachSender(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		c := NewChan[int](0)
		var done WaitGroup
		for i := range 3 {
			done.Go(func() {
				time.Sleep(time.Duration(i) * msec) // the order in which they wait
				c.Send(i)
				// The receiver comes at 10, 20 and 30, which would be 5, 10 and 15.
				checkSaved(t, fmt.Sprintf("sender %d", i), saved(), time.Duration(5*(i+1))*msec)
			})
		}
		for i := range 3 {
			inRegion(10 * msec)
			if got, ok := c.Receive(); got != i || !ok {
				t.Errorf("Receive() = %d, %v, want %d", got, ok, i)
			}
		}
		done.Wait()
	})
}

// An element that waits for a place is there no earlier than the place, for any receiver.
func TestChanElementWaitsForItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		c := NewChan[int](1)
		var done WaitGroup
		done.Go(func() {
			inRegion(10 * msec)
			c.Send(0) // at 10, which would be 5
			c.Send(1)
			checkSaved(t, "the sender", saved(), 0)
		})
		done.Go(func() {
			time.Sleep(12 * msec)
			c.Receive() // at 12
		})
		done.Go(func() {
			inRegion(14 * msec)
			c.Receive() // at 14, which would be 7 if the element were there then
			checkSaved(t, "the second receiver", saved(), 2*msec)
		})
		done.Wait()
	})
}

// Senders that are not observed take places, too.
func TestChanPlacesAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		o := watch(t)
		c := NewChan[int](3)
		var done WaitGroup
		done.Go(func() {
			inRegion(14 * msec)
			c.Send(1) // at 14, which would be 7, into the place that was emptied at 12
			checkSaved(t, "the sender", saved(), 2*msec)
		})
		for range 3 {
			c.Send(0)
		}
		time.Sleep(9 * msec)
		for range 3 {
			time.Sleep(msec)
			c.Receive() // at 10, 11, 12
		}
		virtualtime.Current.Store(nil)
		c.Send(0)
		c.Send(0)
		virtualtime.Current.Store(o)
		done.Wait()
	})
}

func TestChanCloseHandsOver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		for _, places := range []int{0, 3} {
			c := NewChan[int](places)
			var done WaitGroup
			before := saved()
			for range 3 {
				done.Go(func() {
					for range c.All() {
						t.Error("received something from an empty channel")
					}
					checkSaved(t, "one who waits", saved(), before+5*msec)
				})
			}
			inRegion(10 * msec)
			c.Close()
			done.Wait()
			if v, ok := c.Receive(); v != 0 || ok {
				t.Errorf("Receive() = %v, %v after Close, want 0, false", v, ok)
			}
		}
	})
}

// A wait that is given up leaves nothing behind.
func TestChanGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 2 {
			for _, places := range []int{0, 2} {
				c := NewChan[int](places)
				ctx, cancel := context.WithTimeout(context.Background(), 10*msec)
				if _, _, err := c.ReceiveContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ReceiveContext() = %v, want %v", err, context.DeadlineExceeded)
				}
				for i := range places {
					c.Send(i)
				}
				if err := c.SendContext(ctx, 7); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("SendContext() = %v, want %v", err, context.DeadlineExceeded)
				}
				cancel()
				if c.TrySend(7) {
					t.Error("TrySend() on a full channel succeeds")
				}
				for i := range places {
					if v, ok := c.TryReceive(); v != i || !ok {
						t.Errorf("TryReceive() = %v, %v, want %v", v, ok, i)
					}
				}
				if _, ok := c.TryReceive(); ok {
					t.Error("TryReceive() on an empty channel succeeds")
				}
				if w, f := c.table.Waiting.N, c.table.Free.N; w != 0 || f > places {
					t.Errorf("%d who wait and %d places are left of a channel with %d", w, f, places)
				}
				if virtualtime.Current.Load() != nil {
					if _, l := virtualtime.Here(); !isIdle(l) {
						t.Error("the goroutine counts as waiting")
					}
				}
			}
			watch(t)
		}
	})
}

func isIdle(l interface{ Last() (int64, bool) }) bool { _, idle := l.Last(); return idle }

// A receiver that selects, and gets something else, comes again.
func TestChanSelectsSomethingElse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		watch(t)
		a, b := NewChan[int](0), NewChan[int](3)
		var done WaitGroup
		for _, c := range []Chan[int]{a, b} {
			done.Go(func() {
				for range 10 {
					time.Sleep(10 * msec)
					c.Send(1)
				}
			})
		}
		ticks := 0
		for got := 0; got < 20; {
			select {
			case it := <-a.Receiving():
				v, _ := a.Received(it)
				got += v
			case it := <-b.Receiving():
				v, _ := b.Received(it)
				got += v
			case <-time.After(msec):
				ticks++
			}
		}
		done.Wait()
		if ticks < 50 {
			t.Errorf("%d ticks, want one each millisecond in which nothing came", ticks)
		}
		checkSaved(t, "who was in no region", saved(), 0)
		for _, c := range []Chan[int]{a, b} {
			if n := len(c.table.Arrived); n > 1 {
				t.Errorf("%d arrivals of one goroutine are kept, want 1 at most", n)
			}
		}
	})
}

func TestChanPanics(t *testing.T) {
	for range 2 {
		closed, peer := NewChan[int](1), make(chan int, 1)
		closed.Close()
		close(peer)
		checkPanics(t, "Send", func() { closed.Send(1) }, func() { peer <- 1 })
		checkPanics(t, "TrySend", func() { closed.TrySend(1) }, func() { peer <- 1 })
		checkPanics(t, "Close", closed.Close, func() { close(peer) })
		checkPanics(t, "Close of the zero Chan", Chan[int]{}.Close, func() { close(chan int(nil)) })
		checkPanics(t, "NewChan(-1)", func() { NewChan[int](minusOne) }, func() { _ = make(chan int, minusOne) })
		if v, ok := closed.Receive(); v != 0 || ok { // the lock was released
			t.Errorf("Receive() = %v, %v, want 0, false", v, ok)
		}
		watch(t)
	}
}

var minusOne = -1

// A sender that waits when the channel is closed panics, and does not count as waiting after that.
func TestChanCloseBeneathASender(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 2 {
			c := NewChan[int](0)
			got := make(chan string)
			go func() {
				got <- panicOf(func() { c.Send(1) })
				if virtualtime.Current.Load() != nil {
					if _, l := virtualtime.Here(); !isIdle(l) {
						t.Error("the goroutine counts as waiting")
					}
				}
			}()
			synctest.Wait()
			c.Close()
			if got := <-got; got != "send on closed channel" {
				t.Errorf("Send panics with %q, want that of a channel", got)
			}
			synctest.Wait()
			watch(t)
		}
	})
}

func TestChanZeroBlocks(t *testing.T) {
	for range 2 {
		var c Chan[int]
		if c.Len() != 0 || c.Cap() != 0 || c.TrySend(1) || c.Receiving() != nil || c.Sending() != nil {
			t.Error("the zero Chan must be a nil channel")
		}
		if _, ok := c.TryReceive(); ok {
			t.Error("TryReceive() of the zero Chan succeeds")
		}
		ctx, cancel := context.WithTimeout(context.Background(), msec)
		if err := c.SendContext(ctx, 1); err == nil {
			t.Error("SendContext() of the zero Chan succeeds")
		}
		cancel()
		watch(t)
	}
}

func TestChanKeepsOrder(t *testing.T) {
	for range 2 {
		c := NewChan[int](5)
		for i := range 5 {
			c.Send(i)
		}
		if c.Len() != 5 || c.Cap() != 5 {
			t.Errorf("Len() = %d, Cap() = %d, want 5", c.Len(), c.Cap())
		}
		c.Close()
		if got := slices.Collect(c.All()); !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
			t.Errorf("All() = %v", got)
		}
		watch(t)
	}
}

// What is on its way when an observation begins or ends arrives all the same.
func TestChanWhileObservationsChange(t *testing.T) {
	c := NewChan[int](4)
	c.Send(0)
	watch(t)
	c.Send(1)
	it := c.Item(2)
	virtualtime.Current.Store(halfTheTime(t))
	c.Sending() <- it
	virtualtime.Current.Store(nil)
	c.Sent(it)
	c.Send(3)
	for want := range 4 {
		virtualtime.Current.Store([]*virtualtime.Observation{nil, halfTheTime(t)}[want/2])
		if got, ok := c.Receive(); got != want || !ok {
			t.Errorf("Receive() = %d, %v, want %d", got, ok, want)
		}
	}
}

func TestChanAllocs(t *testing.T) {
	buffered := NewChan[int](2)
	checkAllocs(t, func() {
		buffered.Send(1)
		buffered.TrySend(2)
		buffered.Receive()
		buffered.TryReceive()
		buffered.TryReceive()
	})
	there, back := NewChan[int](0), NewChan[int](0)
	go func() {
		for v := range there.All() {
			back.Send(v)
		}
		back.Close()
	}()
	checkAllocs(t, func() {
		there.Send(1)
		it := <-back.Receiving()
		back.Received(it)
	})
	there.Close()
	back.Receive()
}

func BenchmarkChan(b *testing.B) {
	peer, c := make(chan int, 1), NewChan[int](1)
	b.Run("places=1", func(b *testing.B) {
		benchmark(b, func() { peer <- 1; <-peer }, func() { c.Send(1); c.Receive() })
	})
	b.Run("select", func(b *testing.B) {
		other, done := make(chan int), make(chan struct{})
		_ = other
		benchmark(b, func() {
			peer <- 1
			select {
			case <-peer:
			case <-done:
			}
		}, func() {
			c.Send(1)
			select {
			case it := <-c.Receiving():
				c.Received(it)
			case <-done:
			}
		})
	})
	there, back := make(chan int), make(chan int)
	go func() {
		for v := range there {
			back <- v
		}
		close(back)
	}()
	cThere, cBack := NewChan[int](0), NewChan[int](0)
	go func() {
		for v := range cThere.All() {
			cBack.Send(v)
		}
		cBack.Close()
	}()
	b.Run("round trip", func(b *testing.B) {
		benchmark(b, func() { there <- 1; <-back }, func() { cThere.Send(1); cBack.Receive() })
	})
	close(there)
	<-back
	cThere.Close()
	cBack.Receive()
}
