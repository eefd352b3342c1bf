package causal

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/spans"
)

// A dilation is what is being inserted at the moment: every region is made longer by factor
// times its self time, but for the spared one.
//
// Stretching everything leaves the picture as it is, only larger, like a photograph. If one
// region is spared, what comes out is the picture in which that region is faster by
// s = factor/(1+factor), again enlarged by 1+factor.
type dilation struct {
	factor float64 // 0 inserts nothing
	spared int     // index of the region in the run, or sparesNone

	inserted atomic.Int64 // number of delays
}

const (
	noRegion   = -1 // a region that the plan does not select
	sparesNone = -2
)

// stretch makes the region longer, as far as all rules allow, and returns by how much.
func (run *run) stretch(d *dilation, r *spans.Region, v verdict) time.Duration {
	if d.factor == 0 || run.spares(d, r, v) {
		return 0
	}
	want := time.Duration(d.factor * float64(r.SelfTime()))
	if want <= 0 || r.Kind() == trace.SpanKindConsumer {
		return 0
	}
	spent := run.insert(r, v, want, 0, run.spin, func() bool { return run.dilation.Load() == d })
	if spent > 0 {
		d.inserted.Add(1)
	}
	return spent
}

// spares reports whether the region is the spared one, or a part of it.
func (run *run) spares(d *dilation, r *spans.Region, v verdict) bool {
	if d.spared == sparesNone {
		return false
	}
	if v.region == d.spared {
		return true
	}
	for p := r.Parent(); p != nil; p = p.Parent() {
		if run.verdict(p).region == d.spared {
			return true
		}
	}
	return false
}
