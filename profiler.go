package otelprof

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter"
	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/exporter/otlp"
	"github.com/otelprof/otelprof/otelhdr/hdrmetric"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/schedule/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/viewer"
)

// A Profiler is what [Setup] or [Wrap] has wired. Any goroutine may call its methods.
type Profiler struct {
	tracers  *spans.TracerProvider
	meters   *hdrmetric.MeterProvider
	logs     otlp.LoggerProvider
	causal   *causal.Controller
	counters *pmuattrs.Hook     // nil without counters
	times    *schedtimes.Hook   // nil where the scheduler keeps no account
	stacks   *stacks.Profiler   // nil without samples
	schedule *schedule.Recorder // nil without a recorder
	server   *viewer.Server     // nil without a viewer
	service  string             // service.name

	viewerOptions []viewer.Option // of every handler

	base        trace.TracerProvider // the program's own, of Wrap
	detach      bool                 // Wrap has failed: the provider is the program's
	batchers    []*delivery.Batcher
	logBatchers []*delivery.LogBatcher
	readers     []*sdkmetric.PeriodicReader
	exports     []func() delivery.Stats
	pipelines   []pipeline // the pipelines of exports whose metrics have names in the semantic conventions
	// release shuts exporters down that may not have come to a provider.
	release []func(context.Context) error

	endPlans    func() // stops asking for plans; nil without a source of plans
	plans       sync.WaitGroup
	endProfiles func() // stops sending profiles; nil if none are sent
	profiles    sync.WaitGroup
	foretold    *foreteller // nil without a data folder, or a version
	endForetold func()
	foretelling sync.WaitGroup
	lastMetrics atomic.Bool // metrics are collected for the last time

	once sync.Once
	done chan struct{} // closed when Shutdown is over
	err  error         // its outcome, valid after done
}

// TracerProvider returns the provider whose spans are measured and exported.
func (p *Profiler) TracerProvider() *spans.TracerProvider { return p.tracers }

// MeterProvider returns the provider whose metrics are exported, with those of the regions.
func (p *Profiler) MeterProvider() metric.MeterProvider { return p.meters }

// LoggerProvider returns the provider whose log records are exported, with the audit of causal
// experiments.
func (p *Profiler) LoggerProvider() otellog.LoggerProvider { return p.logs }

// Causal returns the controller of causal experiments. It refuses all plans, unless
// [WithExperiments] or the environment has opted in.
func (p *Profiler) Causal() *causal.Controller { return p.causal }

// Counters returns the hook that counts what the CPU does in spans, nil if there is none.
func (p *Profiler) Counters() *pmuattrs.Hook { return p.counters }

// Times returns the hook that sets the times of spans as attributes, nil if there is none.
func (p *Profiler) Times() *schedtimes.Hook { return p.times }

// Stacks returns the profiler that samples call stacks, nil if there is none. With
// [WithProcessContext] and without [WithStacks] it is paused: it labels goroutines, and samples
// nothing.
func (p *Profiler) Stacks() *stacks.Profiler { return p.stacks }

// Schedule returns the recorder of the scheduler's events, nil if there is none.
func (p *Profiler) Schedule() *schedule.Recorder { return p.schedule }

// ViewerURL returns the address of the viewer's page, "" if none is served.
func (p *Profiler) ViewerURL() string {
	if p.server == nil {
		return ""
	}
	return p.server.URL()
}

// Exports returns, for each pipeline, how many spans or data points were exported, are
// queued, or were lost and why.
func (p *Profiler) Exports() []exporter.Stats {
	out := make([]exporter.Stats, len(p.exports))
	for i, stats := range p.exports {
		out[i] = exporter.Stats(stats())
	}
	return out
}

// Shutdown ends experiments, delays in flight included, exports what has ended, and stops all that
// Setup or Wrap has started. When ctx ends it gives up what is left, which is counted, and returns
// at most 100 ms later; the error names the parts that hang. Give it a deadline: without one it
// waits for an endpoint that does not answer for as long as exports may take. The error joins those
// of all parts. A second call waits for the first and returns the same.
func (p *Profiler) Shutdown(ctx context.Context) error {
	first := false
	p.once.Do(func() { first = true })
	if first {
		p.err = end(ctx, p.stages())
		close(p.done)
		return p.err
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("otelprof: shutdown: %w", ctx.Err())
	}
}
