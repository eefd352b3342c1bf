package otelprof

import (
	"context"
	"errors"
	"fmt"
	"sync"

	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/exporter/delivery"
	"github.com/otelprof/otelprof/exporter/viewer"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedtimes"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/spans/stacks/schedule"
)

// A Profiler is what [Setup] has wired. Any goroutine may call its methods.
type Profiler struct {
	tracers  *spans.TracerProvider
	meters   *otelhdr.MeterProvider
	logs     *sdklog.LoggerProvider
	causal   *causal.Controller
	counters *pmuattrs.Hook     // nil without counters
	times    *schedtimes.Hook   // nil where the scheduler keeps no account
	stacks   *stacks.Profiler   // nil without samples
	schedule *schedule.Recorder // nil without a recorder
	server   *viewer.Server     // nil without a viewer

	batchers []*delivery.Batcher
	exports  []func() delivery.Stats
	// release shuts exporters down that may not have come to a provider.
	release []func(context.Context) error

	endPlans    func() // stops asking for plans; nil if nobody is asked
	plans       sync.WaitGroup
	endProfiles func() // stops sending profiles; nil if none are sent
	profiles    sync.WaitGroup

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

// Stacks returns the profiler that samples call stacks, nil if there is none.
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
func (p *Profiler) Exports() []delivery.Stats {
	out := make([]delivery.Stats, len(p.exports))
	for i, stats := range p.exports {
		out[i] = stats()
	}
	return out
}

// Shutdown ends experiments, delays in flight included, exports what has ended, and stops
// all that Setup has started. When ctx ends it gives up what is left, which is counted, and
// returns; give it a deadline. The error joins those of all parts. A second call waits for
// the first and returns the same.
func (p *Profiler) Shutdown(ctx context.Context) error {
	first := false
	p.once.Do(func() { first = true })
	if first {
		p.err = p.shutdown(ctx)
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

func (p *Profiler) shutdown(ctx context.Context) error {
	if p.endPlans != nil {
		p.endPlans()
		p.plans.Wait()
	}
	var errCausal error
	if p.causal != nil {
		errCausal = p.causal.Close()
	}

	if p.endProfiles != nil {
		p.endProfiles()
		p.profiles.Wait()
	}
	var errStacks error
	if p.stacks != nil {
		errStacks = p.stacks.Close()
	}
	if p.schedule != nil {
		p.schedule.Stop()
	}

	// Side by side: an endpoint that does not answer traces must not use up the time of
	// the metrics.
	var wg sync.WaitGroup
	var errTraces, errMetrics, errLogs, errViewer error
	wg.Go(func() {
		if p.tracers != nil {
			errTraces = p.tracers.Shutdown(ctx)
		}
		// Those that the SDK did not come to before ctx ended; for the others, this does
		// nothing.
		for _, b := range p.batchers {
			errTraces = errors.Join(errTraces, b.Shutdown(ctx))
		}
	})
	wg.Go(func() {
		if p.meters != nil {
			errMetrics = p.meters.Shutdown(ctx)
		}
	})
	wg.Go(func() {
		if p.logs != nil {
			errLogs = p.logs.Shutdown(ctx)
		}
	})
	wg.Go(func() {
		if p.server != nil {
			errViewer = p.server.Shutdown(ctx)
		}
	})
	wg.Wait()
	var errCounters error
	if p.counters != nil {
		errCounters = p.counters.Close()
	}
	// What is left is what an error in Setup, or the end of ctx, kept from the providers.
	for _, release := range p.release {
		_ = release(ctx)
	}
	return errors.Join(errCausal, errStacks, errTraces, errMetrics, errLogs, errViewer, errCounters)
}
