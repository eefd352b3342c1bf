package engine

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/spans"
)

// A Dilation is what is being inserted at the moment: every region is made longer by factor
// times its self time, but for the spared one.
//
// Stretching all spans scales the program's time and changes nothing else (time dilation). If one
// region is spared, the result is the program in which that region is faster by
// s = factor/(1+factor), again slower as a whole by 1+factor.
type Dilation struct {
	Run    *Run
	Factor float64 // 0 inserts nothing
	Spared int     // index of the region in the run, or SparesNone

	still
	inserted atomic.Int64 // number of delays
}

// NoRegion is one that the plan does not select.
const NoRegion = -1

// AtEnd makes the span longer, as far as all rules allow.
func (d *Dilation) AtEnd(_ *ledger.Frame, r *spans.Span, region int) time.Duration {
	if d.spares(r, region) {
		return 0
	}
	want := time.Duration(d.Factor * float64(r.SelfTime())) // of a placebo nothing
	if want <= 0 || r.Kind() == trace.SpanKindConsumer {
		return 0
	}
	spent := d.Run.insert(r, want, 0, d.Run.Spin, func() bool { return d.Run.has(d) })
	if spent > 0 {
		d.inserted.Add(1)
	}
	return spent
}

// spares reports whether the span is of the spared region, or below one that is.
func (d *Dilation) spares(r *spans.Span, region int) bool {
	if d.Spared == experiment.SparesNone {
		return false
	}
	if region == d.Spared {
		return true
	}
	for p := r.Parent(); p != nil; p = p.Parent() {
		if d.Run.Verdict(p).Region == d.Spared {
			return true
		}
	}
	return false
}

// Delays implements Influence.
func (d *Dilation) Delays() int64 { return d.inserted.Load() }
