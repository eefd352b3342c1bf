package otelprof

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

// A part is something that Shutdown ends. It may take no notice of its context, and hang: a file on
// a server that is gone, a disk, a logger, what the application has given us to call.
type part struct {
	name string
	end  func(context.Context) error
}

// stages are the parts in the order of their ends, those of a stage side by side: an endpoint that
// does not answer traces must not use up the time of the metrics.
func (p *Profiler) stages() [][]part {
	if p.endPlans != nil {
		p.endPlans()
	}
	if p.endProfiles != nil {
		p.endProfiles()
	}
	return [][]part{
		{{"what is foretold", p.shutForetold}},
		{ // whose last words are exported
			{"plan sources", p.waitForPlans},
			{"experiments", ended(p.causal)},
			{"stacks", ended(p.stacks, &p.profiles)},
			{"schedule", ended(p.schedule, &p.profiles)},
		},
		{
			{"traces", p.shutTraces},
			{"batches of traces", p.shutBatchers},
			{"metrics", p.shutMetrics},
			{"logs", p.shutLogs},
			{"viewer", ended(p.server)},
		},
		{
			{"counters", ended(p.counters)},
			{"exporters", p.releaseAll},
		},
	}
}

func (p *Profiler) waitForPlans(context.Context) error { p.plans.Wait(); return nil }

// ended returns how to end a part, if there is one, once its users have ended.
func ended[T any, P interface {
	*T
	Shutdown(context.Context) error
}](part P, users ...*sync.WaitGroup) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, u := range users {
			u.Wait()
		}
		if part == nil {
			return nil
		}
		return part.Shutdown(ctx)
	}
}

func (p *Profiler) shutTraces(ctx context.Context) error {
	if p.detach {
		for _, b := range p.batchers {
			unregister(p.base, b)
		}
	}
	switch {
	case p.tracers == nil:
		return nil
	case p.detach:
		return p.tracers.Detach(ctx)
	}
	return p.tracers.Shutdown(ctx)
}

// sideBySide ends all at once: of a folder and an endpoint one may hang.
func sideBySide[T any](all []T, end func(T) error) error {
	errs := make([]error, len(all))
	var ends sync.WaitGroup
	for i, one := range all {
		ends.Go(func() { errs[i] = end(one) })
	}
	ends.Wait()
	return errors.Join(errs...)
}

// shutBatchers does not wait for the SDK to come to them, which shuts its processors down one after
// the other: in a provider of the program's they are the last.
func (p *Profiler) shutBatchers(ctx context.Context) error {
	return sideBySide(p.batchers, func(b *delivery.Batcher) error { return b.Shutdown(ctx) })
}

// shutMetrics does not wait for the SDK, either. It flushes first: a periodic reader that is shut
// down cancels the export that it is in, whose deltas would be lost.
func (p *Profiler) shutMetrics(ctx context.Context) error {
	p.lastMetrics.Store(true)
	err := sideBySide(p.readers, func(r *sdkmetric.PeriodicReader) error {
		return errors.Join(r.ForceFlush(ctx), r.Shutdown(ctx))
	})
	if p.meters != nil {
		_ = p.meters.Shutdown(ctx) // its readers are shut down, which is all that it would say
	}
	return err
}

func (p *Profiler) shutLogs(ctx context.Context) error {
	err := sideBySide(p.logBatchers, func(b *delivery.LogBatcher) error { return b.Shutdown(ctx) })
	if p.logs.LoggerProvider == nil {
		return err
	}
	return errors.Join(err, p.logs.Shutdown(ctx))
}

// releaseAll ends what an error in Setup, or the end of ctx, kept from the providers. The errors
// are those that the providers have returned.
func (p *Profiler) releaseAll(ctx context.Context) error {
	for _, release := range p.release {
		_ = release(ctx)
	}
	return nil
}

// end ends one stage after the other. Each before the exports, which are the last but one, takes
// half of the time that is left at most, or [ending.Grace] if that is more, so that what has been
// measured is exported even if a part of it hangs.
func end(ctx context.Context, stages [][]part) error {
	var errs []error
	for i, stage := range stages {
		var limit <-chan time.Time
		if deadline, ok := ctx.Deadline(); ok && i < len(stages)-2 {
			limit = time.After(max(time.Until(deadline)/2, ending.Grace))
		}
		errs = append(errs, endStage(ctx, stage, limit))
	}
	return errors.Join(errs...)
}

type outcome struct {
	part int
	err  error
}

// endStage ends parts side by side. It gives up those that have not ended at the limit, or some
// time after ctx: they go on by themselves.
func endStage(ctx context.Context, stage []part, limit <-chan time.Time) error {
	outcomes := make(chan outcome, len(stage))
	for i, part := range stage {
		go func() { outcomes <- outcome{i, part.end(ctx)} }()
	}
	errs := make([]error, len(stage))
	for i, part := range stage {
		errs[i] = fmt.Errorf("otelprof: shutdown: %s: not ended: %w", part.name, context.DeadlineExceeded)
	}
	over := ctx.Done()
	for left := len(stage); left > 0; {
		select {
		case o := <-outcomes:
			errs[o.part] = o.err
			left--
		case <-over:
			over, limit = nil, time.After(ending.Grace)
		case <-limit:
			left = 0
		}
	}
	return errors.Join(errs...)
}
