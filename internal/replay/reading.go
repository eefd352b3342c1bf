package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A reading is the program that a recording is taken for. Plain is the same without what is
// inferred, which may have to be settled; nil where the operations are recorded or completed. Base
// is the replay of p with nothing changed.
type reading struct {
	rec      *trace.Recording
	whole    *hidden.Completion
	p, plain *model.Program
	base     sim.Outcome
}

// readingOf translates a recording so that the replay of nothing changed meets it as well as can
// be, and notes in w what was chosen. The first translation that meets the recording within
// MaxDeviation is taken, from the one that lets most be decided anew to the one that lets least:
// what keeps more of the recording meets it the more easily, and answers the worse. If none does,
// the one that comes nearest.
//
//  1. operations that the trace does not show are inferred, of all locks and channels or all but one
//  2. locks and channels are inferred from which goroutine woke which, all or all but one
//  3. the recorded order is kept, where goroutines hardly wait in it
//
// One that is taken for another lock or channel than it is, as a lock that is only taken when a
// value is found too old, has goroutines wait for each other in a circle. Without it they do not,
// and its waits keep their order, which bounds the answer (backward elimination). TestAllButOne
// has places that no object is like.
func readingOf(rec *trace.Recording, w *window) reading {
	r := reading{rec: rec}
	if rec.Uses(ruleHidden) {
		r.whole = hidden.Completed(rec)
	}
	if r.whole == nil || !r.completed(w) {
		r.infer(w)
	}
	return r
}

// mostLeftOut bounds how many parts are left out in turn, for a translation and a simulation each.
const mostLeftOut = 8

// completed takes a completed recording, if its replay meets what was recorded.
func (r *reading) completed(w *window) bool {
	defer func() { r.whole.Drop() }() // of what is taken: without a part it has the others
	all := r.whole
	w.inferred, w.whole = true, true
	if slices.ContainsFunc(append([]*trace.Recording{all.Likely}, all.Others...), r.complete) {
		return true
	}
	if r.rec.Uses(ruleAllButOne) && all.Parts() > 1 {
		for k := range min(all.Parts(), mostLeftOut) {
			if r.whole = all.Without(k); r.complete(r.whole.Likely) {
				return true
			}
		}
	}
	r.whole, w.inferred, w.whole = all, false, false
	return false
}

// complete takes a completed recording as it is, or with clients in place of their connections.
func (r *reading) complete(rec *trace.Recording) bool {
	p := infer.NewProgram(rec, true)
	known, _ := doubt.ShareConnections(p) // where requests come to a pool only then as they did
	for _, p := range []*model.Program{p, known} {
		if p == nil {
			continue
		}
		d := rec.End - rec.Start
		if o := sim.Simulate(p, sim.Change{}, d); doubt.Misses(p, &o, d) <= doubt.MaxDeviation {
			r.p, r.base = p, o
			return true
		}
	}
	return false
}

// infer takes the translation that comes nearest: with objects that are inferred or without them,
// and if need be without the time in which the program stood still.
func (r *reading) infer(w *window) {
	// Without the stalls only if need be: they may be part of what the program does.
	best := math.Inf(1)
	for _, rec := range []func() *trace.Recording{func() *trace.Recording { return r.rec }, r.rec.Moving} {
		rec := rec()
		if rec == nil {
			return
		}
		var draft *model.Program // where the other translation is mostly asked for, too: a copy takes memory
		if !r.rec.Operated() {
			draft = infer.Translate(rec)
		}
		take := func(p *model.Program, o sim.Outcome, inferred bool) {
			r.p, r.plain, r.base, w.inferred = p, draft, o, inferred
			w.stalled = time.Duration((r.rec.End - r.rec.Start) - (rec.End - rec.Start))
		}
		for _, inferring := range []bool{true, false} {
			p := draft
			switch {
			case draft == nil:
				p = infer.Translate(rec)
			case inferring:
				p = draft.Rewritten()
			}
			infer.Settle(p, inferring)
			if !inferring && orderedIn(p) > mostOrdered { // an order is met in any case
				continue
			}
			o := sim.Simulate(p, sim.Change{}, rec.End-rec.Start)
			// One that comes to a stop is taken only for want of any other: its miss is infinite.
			missed := doubt.Misses(p, &o, rec.End-rec.Start)
			if missed < best || r.p == nil {
				best = missed
				take(p, o, inferring)
			}
			if missed <= doubt.MaxDeviation {
				return
			}
			p.Compiled, p.Spare = nil, nil // to have less in memory
			if inferring && draft != nil {
				if p, o, ok := allButOne(draft, p.Shared); ok {
					take(p, o, true)
					return
				}
			}
			if inferring && !p.Inferred { // it would be the same without
				break
			}
		}
	}
}

// allButOne settles a draft without one of the objects for which goroutines waited for so long,
// such that the replay meets the recording. Of those with the longest waits, the shortest is left
// out first: its kept order takes the least for granted.
func allButOne(draft *model.Program, waited []int64) (p *model.Program, o sim.Outcome, ok bool) {
	if len(waited) < 2 || !draft.Rec.Uses(ruleAllButOne) {
		return nil, o, false
	}
	order := model.Numbers(len(waited))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(waited[a], waited[b]) })
	d := draft.Rec.End - draft.Rec.Start
	for _, k := range order[max(0, len(order)-mostLeftOut):] {
		rec := *draft.Rec
		rec.LeftOut = int(k) + 1
		p := draft.Rewritten()
		p.Rec = &rec
		infer.Settle(p, true)
		if relayed(p) > mostOrdered {
			continue
		}
		if o := sim.Simulate(p, sim.Change{}, d); doubt.Misses(p, &o, d) <= doubt.MaxDeviation {
			return p, o, true
		}
	}
	return nil, o, false
}

// relayed returns which part of the window goroutines without spans wait for others in a kept
// order, but for locks, all together, at most 1. They bring requests or answers to others, as the
// reader of a connection does, and no bound has what another order of these would bring.
func relayed(p *model.Program) float64 {
	spanned := p.Spanned()
	return p.PartWaited(func(at model.Place, o *model.Op) bool { return !spanned[at.List] && exchanges(o) })
}

// mostOrdered is which part of the window goroutines may wait in an order that is kept since
// nothing else met the recording. A replay that repeats the order meets any recording, and shows
// nothing about another order: above this, an inferred program that misses is preferred, whose miss
// at least shows (TestFaithfulOrder).
const mostOrdered = 0.1

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
