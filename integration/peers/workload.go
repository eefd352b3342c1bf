package main

import (
	"context"
	"errors"
	"runtime"
	"sync"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// batch is the number of spans after which a workload yields.
const batch = 64

// A side is one of the two that a figure compares.
type side struct {
	name   string
	tracer trace.Tracer
	// record is what a figure of records measures in place of a tracer's spans.
	record func(v float64)
	// settle waits for work that spans left to others; nil if they leave none.
	settle func() error
	// lost counts the sessions without a record since the side was made, dropped for lack of
	// room and unwanted by the store; nil if there are no sessions.
	lost func() (dropped, unwanted uint64)
	// close frees what the side holds; nil if there is nothing.
	close func() error
}

// then has end called, too, after what closes the side already.
func (s *side) then(end func() error) *side {
	first := s.close
	s.close = func() (err error) {
		if first != nil {
			err = first()
		}
		return errors.Join(err, end())
	}
	return s
}

// runTraces starts and ends n spans, a multiple of batch, in traces of perTrace spans.
func runTraces(tr trace.Tracer, n, perTrace int) {
	background := context.Background()
	for i := 0; i < n; i += batch {
		for j := 0; j < batch; j += perTrace {
			ctx, root := tr.Start(background, "root")
			for range perTrace - 1 {
				_, span := tr.Start(ctx, "child")
				span.End()
			}
			root.End()
		}
		runtime.Gosched()
	}
}

// runParallel runs runTraces on several goroutines at once, n spans altogether.
func runParallel(tr trace.Tracer, n, perTrace, goroutines int) {
	if goroutines == 1 {
		runTraces(tr, n, perTrace)
		return
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() { runTraces(tr, n/goroutines, perTrace) })
	}
	wg.Wait()
}

// discard is a span processor that drops every span.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

func newSDK(s sdktrace.Sampler) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithSpanProcessor(discard{}))
}

// bare is the SDK without a wrapper.
func bare(s sdktrace.Sampler) *side {
	return &side{name: "otel-sdk", tracer: newSDK(s).Tracer("peers")}
}

// grafana is the wrapper that labels CPU profiles, as its constructor sets it up: with the
// name and the ID of the local root.
func grafana(s sdktrace.Sampler) *side {
	return &side{name: "grafana/otel-profiling-go", tracer: otelpyroscope.NewTracerProvider(newSDK(s)).Tracer("peers")}
}

// idle is our wrapper with recording switched off.
func idle(s sdktrace.Sampler) *side {
	p := spans.WrapTracerProvider(newSDK(s), spans.WithoutRecording())
	return &side{
		name:   "otelprof-idle",
		tracer: p.Tracer("peers"),
		close:  func() error { return p.Shutdown(context.Background()) },
	}
}

// full is our wrapper as it comes: regions with their duration histograms, sessions, and
// the store in memory, which at these rates has no use for most sessions.
func full(s sdktrace.Sampler) *side { return withSessions("otelprof", s) }

// keepAll is full with a store that is not asked what it wants: a record is made of every
// session.
func keepAll(s sdktrace.Sampler) *side {
	ring := struct{ spans.Store }{spans.NewRing(16 << 20)} // hides that it is a spans.Chooser
	return withSessions("otelprof-keep-all", s, spans.WithStore(ring))
}

func withSessions(name string, s sdktrace.Sampler, opts ...spans.Option) *side {
	p := spans.WrapTracerProvider(newSDK(s), opts...)
	return &side{
		name:   name,
		tracer: p.Tracer("peers"),
		settle: func() error { return p.ForceFlush(context.Background()) },
		lost: func() (dropped, unwanted uint64) {
			d := p.Dropped()
			return d.QueueFull + d.StoreError, d.Unwanted
		},
		close: func() error { return p.Shutdown(context.Background()) },
	}
}

var noSessions = spans.WithSessionFilter(func(context.Context, string) bool { return false })

func withoutSessions(name string, s sdktrace.Sampler, opts ...spans.Option) *side {
	ours := withSessions(name, s, append(opts, noSessions)...)
	ours.lost = nil
	return ours
}

// regions is our wrapper without sessions: regions and their histograms only.
func regions(s sdktrace.Sampler) *side {
	p := spans.WrapTracerProvider(newSDK(s), noSessions)
	return &side{
		name:   "otelprof-regions",
		tracer: p.Tracer("peers"),
		close:  func() error { return p.Shutdown(context.Background()) },
	}
}
