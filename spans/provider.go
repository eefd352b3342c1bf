package spans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans/internal/sdkspan"
)

// A TracerProvider wraps another and measures the spans of all its tracers. All methods
// may be called by any goroutine.
type TracerProvider struct {
	embedded.TracerProvider

	base  trace.TracerProvider
	begun time.Time // measuring
	// delegating is set if base is the global placeholder, which may come to stand for
	// this very provider.
	delegating bool
	recording  atomic.Bool
	unmark     func() // nil without marks

	hooks         hooks
	panicsIgnored bool
	trusted       bool
	filter        func(ctx context.Context, name string) bool
	maxSpans      int

	worker  *worker
	regions *registry.Registry[regionName, regionStats] // all tracers'
	// exemplars hands exemplars to the producers.
	exemplars exemplarReaders

	rooms sync.Pool // of *room: rooms that no session has

	mu      sync.Mutex
	tracers map[instrumentation.Scope]*tracer

	// What spans write keeps away from what they read.
	_     cacheLines
	drops drops
	room  atomic.Int64 // spans in sessions, see room.go
	_     cacheLines
}

// WrapTracerProvider returns a provider whose spans are base's, measured. It starts one goroutine,
// which [TracerProvider.Shutdown] ends. A nil base is taken as one without spans of its own: ours
// are measured, nothing is exported.
//
// Options out of their range are reported once to otel.Handle and replaced by their default,
// so that a program never fails to start for its profiler.
func WrapTracerProvider(base trace.TracerProvider, opts ...Option) *TracerProvider {
	if base == nil || isNilPointer(base) {
		base = noop.NewTracerProvider()
	}
	c, err := newConfig(opts)
	if err != nil {
		otel.Handle(err)
	}
	if c.store == nil {
		c.store = NewRing(defaultRingBytes)
	}
	// Here and not while a tracer is made: the SDK logs, and the logger's spans may be ours.
	sdkspan.Learn()
	p := &TracerProvider{
		base:          base,
		begun:         time.Now(),
		delegating:    isGlobalDelegate(base),
		hooks:         newHooks(c.hooks),
		panicsIgnored: c.panicsIgnored,
		trusted:       c.trusted,
		filter:        c.filter,
		maxSpans:      c.maxSpans,
		tracers:       map[instrumentation.Scope]*tracer{},
	}
	p.regions = registry.New(c.maxRegions, regionName.hash, p.newOther)
	p.recording.Store(c.recording)
	if c.marks {
		p.unmark = mark.Want()
	}
	p.worker = newWorker(c.store, c.queue, &p.drops)
	return p
}

func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// Tracer returns the tracer of this scope; for one scope it is always the same. After Shutdown, of
// this provider or of an SDK that it wraps, it returns a tracer without spans, as the SDK does.
func (p *TracerProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	cfg := trace.NewTracerConfig(opts...)
	scope := instrumentation.Scope{
		Name:       name,
		Version:    cfg.InstrumentationVersion(),
		SchemaURL:  cfg.SchemaURL(),
		Attributes: cfg.InstrumentationAttributes(),
	}
	var inner trace.Tracer
	if !p.delegating {
		inner = p.base.Tracer(name, opts...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tracers[scope]
	if _, spanless := inner.(noop.Tracer); spanless && p.hadSpans(t) {
		return endedTracer{}
	}
	if !ok {
		t = newTracer(p, scope, inner, opts)
		p.tracers[scope] = t
	}
	return t
}

// hadSpans reports whether the wrapped provider has been shut down, if the tracer that it now
// returns in the place of t is one without spans. Some return such tracers all the time.
func (p *TracerProvider) hadSpans(t *tracer) bool {
	if _, sdk := p.base.(*sdktrace.TracerProvider); sdk {
		return true
	}
	if t == nil {
		return false
	}
	_, spanless := t.inner.(noop.Tracer)
	return !spanless
}

// RegisterSpanProcessor adds a processor to the wrapped provider if that takes processors, as the
// SDK's does, and does nothing otherwise.
func (p *TracerProvider) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if r, ok := p.base.(interface{ RegisterSpanProcessor(sdktrace.SpanProcessor) }); ok {
		r.RegisterSpanProcessor(sp)
	}
}

// UnregisterSpanProcessor takes a processor away from the wrapped provider, under the same
// conditions.
func (p *TracerProvider) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if r, ok := p.base.(interface{ UnregisterSpanProcessor(sdktrace.SpanProcessor) }); ok {
		r.UnregisterSpanProcessor(sp)
	}
}

// SetRecording switches the measuring of regions, hooks and sessions on or off, for spans
// started from now on. While it is off a wrapped span costs one allocation and little else.
func (p *TracerProvider) SetRecording(on bool) { p.recording.Store(on) }

// Store returns where finished sessions go.
func (p *TracerProvider) Store() Store { return p.worker.store }

// Unwrap returns the wrapped provider.
func (p *TracerProvider) Unwrap() trace.TracerProvider { return p.base }

// ForceFlush waits until the sessions that have ended are in the store, and flushes the wrapped
// provider meanwhile, if it can. It returns soon after ctx has ended, even if the wrapped provider
// hangs.
func (p *TracerProvider) ForceFlush(ctx context.Context) error {
	f, ok := p.base.(interface{ ForceFlush(context.Context) error })
	if !ok {
		return p.worker.flush(ctx)
	}
	base := make(chan error, 1)
	// A store that hangs does not keep the exporters.
	go func() { base <- ending.Within(ctx, func() error { return f.ForceFlush(ctx) }) }()
	err := p.worker.flush(ctx)
	if errBase := <-base; errBase != nil {
		err = errors.Join(err, fmt.Errorf("spans: flush: wrapped provider: %w", errBase))
	}
	return err
}

// Shutdown stores the sessions that have ended, stops the worker, and shuts down the wrapped
// provider meanwhile, if it can be. Spans of tracers from before are still measured, their sessions
// are dropped. It returns soon after ctx has ended, even if the wrapped provider hangs. A second
// call returns what the wrapped provider answers.
func (p *TracerProvider) Shutdown(ctx context.Context) error {
	s, ok := p.base.(interface{ Shutdown(context.Context) error })
	if !ok {
		return p.Detach(ctx)
	}
	base := make(chan error, 1)
	go func() { base <- ending.Within(ctx, func() error { return s.Shutdown(ctx) }) }()
	err := p.Detach(ctx)
	if errBase := <-base; errBase != nil {
		err = errors.Join(err, fmt.Errorf("spans: shutdown: wrapped provider: %w", errBase))
	}
	return err
}

// Detach is Shutdown, but leaves the wrapped provider as it is.
func (p *TracerProvider) Detach(ctx context.Context) error {
	if p.unmark != nil {
		p.unmark()
	}
	if err := p.worker.shutdown(ctx); err != nil {
		return fmt.Errorf("spans: shutdown: %w", err)
	}
	return nil
}

// Dropped returns what has been left out so far.
func (p *TracerProvider) Dropped() Dropped {
	d := &p.drops
	return Dropped{
		QueueFull:   d.queueFull.Load(),
		Unwanted:    d.unwanted.load(),
		StoreError:  d.storeError.Load(),
		Discarded:   d.discarded.Load(),
		Revisions:   d.revisions.Load(),
		SessionFull: d.sessionFull.Load(),
		RegionsFull: d.regionsFull.Load(),
		HookPanics:  d.hookPanics.Load(),
	}
}

// Queued returns the number of ended sessions that wait for the worker. Every session that
// has ended is in the store, queued, or in one of the session counters of [Dropped].
func (p *TracerProvider) Queued() int { return p.worker.queued() }

// Regions returns what has been measured of each region with at least one ended span, the one
// with the most self time first. It copies all histograms: some microseconds for each region.
func (p *TracerProvider) Regions() []RegionStats {
	var all []RegionStats
	for _, s := range p.live() {
		if r := s.snapshot(); r.Count > 0 {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b RegionStats) int { return cmp.Compare(b.Self, a.Self) })
	return all
}
