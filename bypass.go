package otelprof

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// watched is how long after the start it is looked whether spans pass by the measurement.
const watched = 10 * time.Second

// A bypass counts the spans of the wrapped provider, those that we have not measured included:
// of tracers that the program took before it was wrapped. It sees spans alone that are recorded, so
// that below a sampler it notices only if most pass by.
type bypass struct{ ended atomic.Uint64 }

// OnStart does nothing.
func (*bypass) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd counts.
func (b *bypass) OnEnd(sdktrace.ReadOnlySpan) { b.ended.Add(1) }

// ForceFlush does nothing.
func (*bypass) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing.
func (*bypass) Shutdown(context.Context) error { return nil }

// watch looks at once and once more later whether tracers of the program are measured, and logs
// what stands in the way. A TracerProvider that others set replaces ours without an error, and
// OpenTelemetry's compile-time instrumentation ignores all calls of SetTracerProvider after the
// first.
func (p *Profiler) watch(c config) {
	if !c.withoutGlobals && p.displaced(c) {
		return
	}
	b := &bypass{}
	sdk, ok := c.base.(*sdktrace.TracerProvider)
	if ok {
		sdk.RegisterSpanProcessor(b)
	}
	later := time.AfterFunc(watched, func() {
		if ok { // up to v1.46 the SDK takes its first one away for one that it does not have
			sdk.UnregisterSpanProcessor(b)
		}
		if !c.withoutGlobals && p.displaced(c) {
			return
		}
		if n, measured := b.ended.Load(), p.measured(); n > measured+measured/100+uint64(runtime.GOMAXPROCS(0)) {
			c.logger.Warn("otelprof: spans of the wrapped provider are not measured: their tracers are older than the wrapper; call Wrap before they are made, and in place of otel.SetTracerProvider",
				slog.Uint64("ended", n), slog.Uint64("measured", measured))
		}
	})
	p.release = append(p.release, func(context.Context) error { later.Stop(); return nil })
}

// displaced reports whether the global TracerProvider is another than ours, and logs it.
func (p *Profiler) displaced(c config) bool {
	global := otel.GetTracerProvider()
	if global == p.tracers {
		return false
	}
	c.logger.Warn("otelprof: OpenTelemetry's global TracerProvider is another: spans of otel.Tracer are not measured, unless it passes them on; set it before, and give it to otelprof.Wrap, or set Profiler.TracerProvider after it",
		slog.String("provider", fmt.Sprintf("%T", global)))
	return true
}

// measured is the number of spans that have ended in regions.
func (p *Profiler) measured() (n uint64) {
	for _, r := range p.tracers.Regions() {
		n += r.Count
	}
	return n
}
