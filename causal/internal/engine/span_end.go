package engine

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/spans"
)

// EndSpan does a plan's work at the end of a span, whose frame may be nil. It returns the delay.
func (run *Run) EndSpan(f *ledger.Frame, r *spans.Span) (delay time.Duration) {
	defer run.Contain()
	v := run.Verdict(r)
	delay = run.InForce().AtEnd(f, r, v.Region)
	if r.Parent() == nil {
		if traces := &run.Guard.Traces; traces.Count() > 0 && requests.TopOf(r) == r {
			traces.Ended(requests.TraceOf(r))
		}
		run.Breaker.Observe(r.Duration()+delay, r.Failed())
		run.rooted.Add(int64(r.Duration()))
	}
	for k, i := range v.Progress {
		run.durations.record(i, r)
		run.visit(i, v.paths[k])
	}
	return delay
}

// Visited counts a visit of a progress point for each run.
func Visited(name string) {
	p := Live.Runs.Load()
	if p == nil {
		return
	}
	for _, r := range *p {
		r.visitNamed(name)
	}
}

func (run *Run) visitNamed(name string) {
	defer run.Contain()
	for i := range run.Plan.Progress {
		if glob.Match(run.Plan.Progress[i].Span, name) {
			run.visit(i, 0)
		}
	}
}
