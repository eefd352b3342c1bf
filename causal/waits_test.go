package causal

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/internal/clock"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/spans"
)

// A crowd runs goroutines that repeat something until it is stopped.
type crowd struct {
	tr   trace.Tracer
	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup
}

func newCrowd(t *testing.T, opts ...spans.Option) *crowd {
	tp := spans.WrapTracerProvider(nil, opts...)
	c := &crowd{tr: tp.Tracer("crowd")}
	c.ctx, c.stop = context.WithCancel(context.Background())
	t.Cleanup(func() {
		c.stop()
		c.all.Wait()
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *crowd) repeat(n int, f func()) {
	for range n {
		c.all.Go(func() {
			for c.ctx.Err() == nil {
				f()
			}
		})
	}
}

func (c *crowd) span(ctx context.Context, name string, f func(ctx context.Context)) {
	ctx, s := c.tr.Start(ctx, name)
	defer s.End()
	f(ctx)
}

func (c *crowd) work(ctx context.Context, name string, d time.Duration) {
	c.span(ctx, name, func(context.Context) { time.Sleep(d) })
}

// pipeline is two stages, of which the second is the faster one, that hand elements over.
func (c *crowd) pipeline(send func(), receive func() (more bool), done func()) {
	c.all.Go(func() {
		defer done()
		for c.ctx.Err() == nil {
			c.work(c.ctx, "produce", 3*ms)
			send()
		}
	})
	c.all.Go(func() {
		for receive() {
			c.work(c.ctx, "consume", ms)
			Progress(c.ctx, "item")
		}
	})
}

func plainPipeline(_ *testing.T, c *crowd) {
	ch := make(chan int, 2)
	c.pipeline(func() { ch <- 1 }, func() bool { _, ok := <-ch; return ok }, func() { close(ch) })
}

func toldPipeline(_ *testing.T, c *crowd) {
	ch := NewChan[int](2)
	c.pipeline(func() { ch.Send(1) }, func() bool { _, ok := ch.Receive(); return ok }, ch.Close)
}

// Waits that no type of this package reports are seen, and only those. A machine that is busy with
// something else wakes goroutines late, and more waits seem to be so: one recording of several
// without them will do.
func TestUnattributedWaits(t *testing.T) {
	if sched.Present {
		testutil.Lacks(t, "GO_BUILD", "the scheduler sees all waits in a program of otelprof build")
	}
	for _, tt := range []struct {
		name   string
		untold bool
		run    func(t *testing.T, c *crowd)
	}{
		{"a pipeline by a channel", true, plainPipeline},
		{"a pipeline by a Chan", false, toldPipeline},
		{"a pool in a channel", true, func(_ *testing.T, c *crowd) {
			pool := make(chan struct{}, 2)
			c.repeat(4, func() {
				pool <- struct{}{}
				c.work(c.ctx, "query", 2*ms)
				<-pool
				c.work(c.ctx, "think", ms)
			})
		}},
		{"a pool in a Chan", false, func(_ *testing.T, c *crowd) {
			pool := NewChan[struct{}](2)
			c.repeat(4, func() {
				pool.Send(struct{}{})
				c.work(c.ctx, "query", 2*ms)
				pool.Receive()
				c.work(c.ctx, "think", ms)
			})
		}},
		{"a lock", true, func(_ *testing.T, c *crowd) {
			var mu sync.Mutex
			c.repeat(3, func() {
				mu.Lock()
				c.work(c.ctx, "inside", ms)
				mu.Unlock()
				c.work(c.ctx, "outside", ms)
			})
		}},
		{"a Mutex", false, func(_ *testing.T, c *crowd) {
			var mu Mutex
			c.repeat(3, func() {
				mu.Lock()
				c.work(c.ctx, "inside", ms)
				mu.Unlock()
				c.work(c.ctx, "outside", ms)
			})
		}},
		{"a goroutine without spans that serves", true, func(_ *testing.T, c *crowd) {
			asked := make(chan chan struct{})
			c.repeat(3, func() {
				answer := make(chan struct{})
				c.span(c.ctx, "ask", func(context.Context) {
					select {
					case asked <- answer:
						<-answer
					case <-c.ctx.Done():
					}
				})
			})
			c.all.Go(func() {
				for {
					select {
					case answer := <-asked:
						clock.Spin(clock.Now(), ms/2, func() bool { return true })
						close(answer)
					case <-c.ctx.Done():
						return
					}
				}
			})
		}},
		{"a join that spans tell of", false, func(_ *testing.T, c *crowd) {
			c.repeat(1, func() {
				c.span(c.ctx, "request", func(ctx context.Context) {
					var both sync.WaitGroup
					both.Go(func() { c.work(ctx, "long", 3*ms) })
					both.Go(func() { c.work(ctx, "short", 2*ms) })
					both.Wait()
				})
			})
		}},
		{"timers", false, func(_ *testing.T, c *crowd) {
			c.repeat(2, func() {
				c.span(c.ctx, "poll", func(context.Context) {
					select {
					case <-time.After(2 * ms):
					case <-c.ctx.Done():
					}
				})
			})
		}},
		{"the network", false, overTheNetwork},
		{"the network, by goroutines of net/http", false, overHTTP},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCrowd(t)
			tt.run(t, c)
			w := recordedWaits(t)
			for again := 2; again > 0 && !tt.untold && experiment.UntoldIn(w); again-- {
				w = recordedWaits(t)
			}
			if w.All < w.Length/10 || experiment.UntoldIn(w) != tt.untold {
				t.Errorf("%v of %v waiting in %v is for what nothing tells of, want more than 5 %%: %t", w.Untold, w.All, w.Length, tt.untold)
			}
		})
	}
}

func recordedWaits(t *testing.T) replaytrace.Waits {
	t.Helper()
	w, err := engine.RecordWaits(t.Context(), 80*ms)
	if errors.Is(err, record.ErrTraced) {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v of %v in %v", w.Untold, w.All, w.Length)
	return w
}

// overTheNetwork reads what another goroutine writes each two milliseconds.
func overTheNetwork(t *testing.T, c *crowd) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	from, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.all.Go(func() {
		defer to.Close()
		for c.ctx.Err() == nil {
			time.Sleep(2 * ms)
			if _, err := to.Write([]byte{1}); err != nil {
				return
			}
		}
	})
	c.all.Go(func() {
		defer from.Close()
		for err := error(nil); err == nil; {
			c.span(c.ctx, "read", func(context.Context) { _, err = from.Read(make([]byte, 1)) })
		}
	})
}

// overHTTP asks a server that thinks for two milliseconds; its client waits for goroutines of
// net/http, and those for the network.
func overHTTP(t *testing.T, c *crowd) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * ms) }))
	t.Cleanup(func() {
		c.stop()
		c.all.Wait()
		s.Close()
	})
	c.repeat(2, func() {
		c.span(c.ctx, "GET", func(ctx context.Context) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
			if err != nil {
				return
			}
			resp, err := s.Client().Do(req)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	})
}
