package replay

import (
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A reading is what faithful makes of a recording, and of what it was completed with.
type reading struct {
	rec      *trace.Recording
	whole    *hidden.Completion
	p, plain *model.Program
	base     sim.Outcome
}

func readingOf(rec *trace.Recording, w *window) (r reading) {
	r.rec = rec
	if rec.Uses(ruleHidden) {
		r.whole = hidden.Completed(rec)
	}
	r.p, r.plain, r.base = faithful(rec, r.whole, w)
	return r
}

func (r *reading) misses() float64 {
	return doubt.Misses(r.p, &r.base, r.p.Rec.End-r.p.Rec.Start)
}

// nearlyMet is by which part the replay of marked operations may miss a recording, and still be
// taken before one that keeps an order, which meets any recording and shows nothing of another
// order. What it misses by is a margin on both sides of the answer.
const nearlyMet = 0.1

// nearest reads a recording with its marks of operations. Where the replay misses it then, as with
// marks that are lost or that the model does not know, it reads the same events as those of a stock
// program, too, and takes what comes nearer: marks must not make an answer worse than none would.
func nearest(rec *trace.Recording, w *window) reading {
	marked := readingOf(rec, w)
	if !rec.Operated() || marked.misses() <= doubt.MaxDeviation {
		return marked
	}
	v := *w
	v.stock, v.inferred, v.whole, v.stalled = true, false, false, 0
	stock := readingOf(rec.WithoutOperations(), &v)
	if marksStay(marked.misses(), stock.misses(), orderedIn(stock.p)) {
		return marked
	}
	*w = v
	return stock
}

// marksStay decides by what either replay misses, and which part of the time the one without marks
// waits in an order that it keeps.
func marksStay(marked, stock, ordered float64) bool {
	return !(stock < marked) || marked <= nearlyMet && ordered > mostOrdered
}
