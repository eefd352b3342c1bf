package causal

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal/internal/experiment"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// A dilation is what is being inserted at the moment: every region is made longer by factor
// times its self time, but for the spared one.
//
// Stretching all spans scales the program's time and changes nothing else (time dilation). If one
// region is spared, the result is the program in which that region is faster by
// s = factor/(1+factor), again slower as a whole by 1+factor.
type dilation struct {
	run    *run
	factor float64 // 0 inserts nothing
	spared int     // index of the region in the run, or sparesNone

	inserted atomic.Int64 // number of delays
}

// noRegion is one that the plan does not select.
const noRegion = -1

// atEnd makes the span longer, as far as all rules allow.
func (d *dilation) atEnd(_ *ledger.Frame, r *spans.Span, region int) time.Duration {
	if d.spares(r, region) {
		return 0
	}
	want := time.Duration(d.factor * float64(r.SelfTime())) // of a placebo nothing
	if want <= 0 || r.Kind() == trace.SpanKindConsumer {
		return 0
	}
	spent := d.run.insert(r, want, 0, d.run.spin, func() bool { return d.run.has(d) })
	if spent > 0 {
		d.inserted.Add(1)
	}
	return spent
}

// spares reports whether the span is of the spared region, or below one that is.
func (d *dilation) spares(r *spans.Span, region int) bool {
	if d.spared == experiment.SparesNone {
		return false
	}
	if region == d.spared {
		return true
	}
	for p := r.Parent(); p != nil; p = p.Parent() {
		if d.run.verdict(p).region == d.spared {
			return true
		}
	}
	return false
}

func (d *dilation) rest()                          {}
func (d *dilation) growthAt(int64) int64           { return 0 }
func (d *dilation) delays() int64                  { return d.inserted.Load() }
func (d *dilation) latencies() []*otelhdr.Snapshot { return nil }
func (d *dilation) mark()                          {}
func (d *dilation) look(*experiment.Experiment)    {}
