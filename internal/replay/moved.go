package replay

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// leastMoved is which part of the time of a region's spans must be of ones that moved, to matter.
const leastMoved = 0.02

// unseenIn returns for which part of the window spans of a region were open, all together, that
// ended on another goroutine than they began on (asynchronous calls, whose answers one goroutine
// reads for all), as far as no goroutine did anything in them: what they waited for meanwhile is
// not known, and a faster region may have less of it. TestMovedSpans has such a program.
func unseenIn(p *model.Program) map[trace.Region]float64 {
	r := p.Rec
	type open struct {
		g  int32
		at int64
	}
	began := make([]open, len(r.Spans))
	for i := range began {
		began[i] = open{trace.NoWaker, r.Start}
	}
	all, moved := make([]int64, len(r.Regions)), make([]int64, len(r.Regions)) // ns
	found := false
	for e := range r.All() {
		switch e.Kind {
		case trace.EvOpen:
			began[e.Ref] = open{e.G, e.At}
		case trace.EvClose:
			region, b := r.Spans[e.Ref].Region, began[e.Ref]
			all[region] += e.At - b.at
			if b.g != trace.NoWaker && b.g != e.G {
				moved[region] += e.At - b.at
				found = true
			}
		}
	}
	if !found {
		return nil
	}
	done := make([]int64, len(r.Regions)) // ns
	for _, o := range p.All() {
		if o.Kind == model.OpRun || o.Kind == model.OpOut {
			for _, region := range p.Sets[o.Set] {
				done[region] += o.D
			}
		}
	}
	unseen := map[trace.Region]float64{}
	for i, d := range moved {
		part := float64(d) / float64(max(1, all[i]))
		if rest := part * float64(all[i]-done[i]); part > leastMoved && rest > 0 {
			unseen[r.Regions[i]] = rest / float64(r.End-r.Start)
		}
	}
	return unseen
}
