package causal

import (
	"context"
	"net"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// A planted is a cause that makes some requests slow, and what names it.
type planted struct {
	name  string
	start func(t *testing.T, tr trace.Tracer, stop <-chan struct{}, wg *sync.WaitGroup) (request func(context.Context))
	is    func(profile.TailPart) bool
}

var plantedCauses = []planted{
	{"a lock that a job holds for 30 ms each second", plantLock, func(p profile.TailPart) bool { return p.Kind == "lock" && p.By.Name == "job" }},
	{"the garbage collector", plantCollector, func(p profile.TailPart) bool { return p.Kind == "garbage collection" }},
	{"a replica that is slow", plantReplica, func(p profile.TailPart) bool { return p.Kind == "network" && p.In.Name == "call b" }},
}

// TestPlantedTail plants causes of slow requests, and looks whether the tail names each first; with
// -count=4 twenty times.
func TestPlantedTail(t *testing.T) {
	if !*thorough.Rounds {
		t.Skip("takes a minute: with -long")
	}
	const rounds = 5
	for _, cause := range plantedCauses {
		t.Run(cause.name, func(t *testing.T) {
			named := 0
			for range rounds {
				tail := cause.tail(t)
				var sum time.Duration
				for _, p := range tail.Parts {
					sum += p.Slow
				}
				if sum > tail.Slow {
					t.Errorf("parts of %v in the mean add up to %v", tail.Slow, sum)
				}
				if len(tail.Parts) > 0 && cause.is(tail.Parts[0]) {
					named++
				} else {
					t.Logf("named first: %+v", tail)
				}
			}
			t.Logf("tail planted=%q first=%d of=%d", cause.name, named, rounds)
			if named < rounds-1 { // a machine that stops for as long is a reason, too
				t.Errorf("named first in %d of %d", named, rounds)
			}
		})
	}
}

func (p planted) tail(t *testing.T) profile.Tail {
	c := newController(t)
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(c.Hook()))
	defer tp.Shutdown(context.Background())
	tr := tp.Tracer("shop")
	var wg sync.WaitGroup
	stop := make(chan struct{})
	defer wg.Wait()
	defer close(stop)
	request := p.start(t, tr, stop, &wg)
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				ctx, s := tr.Start(context.Background(), "request")
				request(ctx)
				s.End()
			}
		})
	}
	if err := c.Record(t.Context(), 1500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	return tailOf(c.Profile(), "request")
}

func plantLock(_ *testing.T, tr trace.Tracer, stop <-chan struct{}, wg *sync.WaitGroup) func(context.Context) {
	var mu sync.Mutex
	wg.Go(func() {
		for wait := 300 * time.Millisecond; ; wait = 970 * time.Millisecond { // a span from before the recording has no name
			select {
			case <-stop:
				return
			case <-time.After(wait):
			}
			_, s := tr.Start(context.Background(), "job")
			mu.Lock()
			time.Sleep(30 * time.Millisecond)
			mu.Unlock()
			s.End()
		}
	})
	return func(context.Context) {
		mu.Lock()
		mu.Unlock() //nolint:staticcheck // it is held by the job
		time.Sleep(time.Millisecond)
	}
}

// plantCollector has a large heap, and requests that allocate a little: few are there while it is
// marked.
func plantCollector(t *testing.T, _ trace.Tracer, _ <-chan struct{}, _ *sync.WaitGroup) func(context.Context) {
	type node struct {
		next *node
		data [4]*int
	}
	var live []*node
	for range 2_000_000 {
		live = append(live, &node{})
	}
	percent := debug.SetGCPercent(20)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		live = nil
	})
	return func(context.Context) {
		var last *node
		for range 2000 {
			last = &node{next: last}
			if len(live) > 0 {
				last.data[0] = new(int)
			}
		}
		live[0] = last
	}
}

// plantReplica has two servers, of which one takes 25 ms each twentieth time.
func plantReplica(t *testing.T, tr trace.Tracer, _ <-chan struct{}, wg *sync.WaitGroup) func(context.Context) {
	serve := func(slow bool) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		var mu sync.Mutex
		n := 0
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					mu.Lock()
					n++
					late := slow && n%20 == 0
					mu.Unlock()
					if late {
						time.Sleep(25 * time.Millisecond)
					}
					_, _ = c.Write([]byte("x"))
					_ = c.Close()
				}()
			}
		}()
		return l.Addr().String()
	}
	replicas := map[string]string{"call a": serve(false), "call b": serve(true)}
	return func(ctx context.Context) {
		for _, name := range []string{"call a", "call b"} {
			_, s := tr.Start(ctx, name)
			if c, err := net.Dial("tcp", replicas[name]); err == nil {
				_, _ = c.Read(make([]byte, 1))
				_ = c.Close()
			}
			s.End()
		}
	}
}
