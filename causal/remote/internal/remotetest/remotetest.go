// Package remotetest is what the tests of sources share.
package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/remote"
	"github.com/otelprof/otelprof/spans"
)

// Document returns a valid plan with this ID that selects this region.
func Document(id, region string, lines ...string) string {
	doc := []string{
		"api: causal/v1",
		"id: " + id,
		"expires_at: " + time.Now().Add(50*time.Minute).UTC().Format(time.RFC3339),
		"mode: dilation",
		fmt.Sprintf("regions: [{span: %s}]", region),
		"progress: [{span: root, type: throughput}]",
	}
	// Most tests have the plan before its source begins.
	return strings.Join(append(append(doc, lines...), "restart: true"), "\n") + "\n"
}

// Signable returns a plan as it must be to be signed: for the service of [Controller], with a
// generation.
func Signable(id, region string, generation int) string {
	return Document(id, region, "target: {service: "+service+"}", fmt.Sprint("generation: ", generation))
}

const service = "remotetest"

// Controller returns a controller whose caps let tests see delays at once.
func Controller(t testing.TB) *causal.Controller {
	t.Helper()
	caps := plan.Limits{
		PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute),
		Duty: 1, Total: plan.Duration(time.Hour),
	}
	r := resource.NewSchemaless(attribute.String("service.name", service))
	c, err := causal.NewController(causal.WithExperiments(caps), causal.WithBreaker(plan.Abort{P99Ratio: 1000, ErrDelta: 1, Window: plan.Duration(time.Minute), MinSamples: 1000}), causal.WithResource(r))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return c
}

// Follow follows a source until stop is called, or the test ends.
func Follow(t testing.TB, c *causal.Controller, source remote.Source, opts ...remote.Option) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		remote.Follow(ctx, c, source, opts...)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// Await waits, at most half a minute, until ok.
func Await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// A Pipe is a listener in memory, for servers in a bubble of package synctest, where a network's
// connections would keep the clock from moving on.
type Pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipe returns a listener without connections.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept waits for a Dial.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Dial connects to the listener; it ignores the address.
func (p *Pipe) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close has later dials refused.
func (p *Pipe) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

// Addr returns an address that is not one.
func (p *Pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

var chunk = bytes.Repeat([]byte("#"), 32<<10)

// Flood writes n bytes, or as many as are taken, and returns how many.
func Flood(w io.Writer, n int) (written int) {
	for written < n {
		k, err := w.Write(chunk[:min(len(chunk), n-written)])
		if written += k; err != nil {
			break
		}
	}
	return written
}

// Allocated returns what the whole process allocates while f runs, freed or not.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Hasty are the lines of a plan whose first delays come within a few milliseconds of spans.
var Hasty = []string{
	"timing: {warmup: 0s, experiment: 100ms, cooloff: 0s, min_progress: 1}",
	"limits: {per_span: 1s, per_trace: 1m, duty: 100%, total: 1h}",
	"abort: {p99_ratio: 1000, err_delta: 100%, min_samples: 1}",
	"grid: {speedups: [0, 50], zero_weight: 0.1}",
}

// An App is a program in which spans end as long as Work is called.
type App struct {
	tb       testing.TB
	c        *causal.Controller
	provider *spans.TracerProvider
}

// NewApp returns a program with spans that c may delay.
func NewApp(t testing.TB, c *causal.Controller) *App {
	t.Helper()
	a := &App{t, c, spans.WrapTracerProvider(nil, spans.WithHook(c.Hook()))}
	t.Cleanup(func() {
		if err := a.provider.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
	})
	return a
}

// Work ends n roots with spans a and b under each.
func (a *App) Work(n int) {
	tracer := a.provider.Tracer("test")
	for range n {
		ctx, root := tracer.Start(context.Background(), "root")
		for _, name := range []string{"a", "b"} {
			_, span := tracer.Start(ctx, name)
			time.Sleep(50 * time.Microsecond)
			span.End()
		}
		root.End()
	}
}

// AwaitDelays works until delays are inserted.
func (a *App) AwaitDelays() {
	a.tb.Helper()
	Await(a.tb, "delays are inserted", func() bool { a.Work(10); return a.c.Status().Spent > 0 })
}

// WantNoDelay works, and wants nothing to be inserted.
func (a *App) WantNoDelay() {
	a.tb.Helper()
	before := a.c.Status().Spent
	a.Work(500)
	if after := a.c.Status().Spent; after != before {
		a.tb.Errorf("delays of %v were inserted, want none any more", after-before)
	}
}
