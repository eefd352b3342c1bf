package doubt

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Some work is not part of every request: a cached value is loaded where it is not there, a page is
// written each tenth time. The replay has it done by the same requests as in the recording, that
// is, per visit. What is done per time instead, as where a cached value has a time to live, is done
// by fewer requests once requests are faster.

// An Occasion is when such work was done.
type Occasion struct {
	model.Place       // its first op
	Last        int32 // and its last one
	At          int64 // since the window's beginning
	Until       int64
}

func (o *Occasion) took() int64 { return max(1, o.Until-o.At) }

// A workKind is the spans of a region, or the waits at one place of the code; none for not that.
type workKind struct{ Region, site int32 }

// Occasional work is what less than half of the rounds have.
type Occasional struct {
	workKind
	Occasions []Occasion // in order of time
	Rounds    []Round    // in order of time
	share     float64    // of the rounds' time that it takes
}

// A Round is one time that the work may be done: the span around it, or what a goroutine does from
// one visit of a progress point to the next.
type Round struct {
	At, Until int64
	Owner     int32 // the goroutine with which the request began
	Took      int64 // the work, 0 if it was not done
}

func (r *Round) taken() bool { return r.Took > 0 }

// A surveyor finds occasional work.
type surveyor struct {
	p      *model.Program
	sites  []int32
	spans  []int // of each region
	visits int   // of the progress point with the most
	opened []model.Place
	closed []model.Place // of each span, in list -1 for none
	kinds  []workKind
	pieces map[workKind][]piece
}

// A piece is one occasion of work of any kind.
type piece struct {
	Occasion
	parent int32 // the span around it, none if there is none
}

// FindOccasional returns the work that only some rounds have.
func FindOccasional(p *model.Program) []Occasional {
	v := &surveyor{p: p, sites: cond.UsedAt(p), pieces: map[workKind][]piece{}}
	v.count()
	for l := range p.Lists {
		v.survey(int32(l))
	}
	var all []Occasional
	for _, kind := range v.kinds {
		pieces := v.pieces[kind]
		work := Occasional{workKind: kind}
		spanned := 0
		for i := range pieces {
			if pieces[i].parent >= 0 {
				spanned++
			}
		}
		switch {
		case len(pieces) < cond.LeastOccasions:
			continue
		case float64(spanned) >= hidden.Fairness*float64(len(pieces)):
			v.within(&work, pieces)
		case kind.Region >= 0 || spanned == 0:
			v.between(&work, pieces)
		}
		if work.matters(pieces) {
			all = append(all, work)
		}
	}
	return all
}

// count counts the spans of each region, and the visits.
func (v *surveyor) count() {
	rec := v.p.Rec
	v.spans = make([]int, len(rec.Regions))
	for i := range rec.Events { // the spans are those of other windows, too
		rec.RestsAt(i)
		if e := &rec.Events[i]; e.Kind == trace.EvOpen {
			v.spans[rec.Spans[e.Ref].Region]++
		}
	}
	for _, at := range v.p.Recorded() {
		v.visits = max(v.visits, len(at))
	}
	v.opened = slices.Repeat([]model.Place{{List: trace.None, Op: trace.None}}, len(rec.Spans))
	v.closed = slices.Clone(v.opened)
}

// rare reports whether work that was done so often may be occasional, within a span or without one.
func (v *surveyor) rare(n int, parent int32) bool {
	all := v.visits
	if parent >= 0 {
		all = v.spans[v.p.Rec.Spans[parent].Region]
	}
	return float64(n) <= cond.MostTaken*float64(all)
}

// survey finds the spans of a list, and its waits for timers and the network.
func (v *surveyor) survey(list int32) {
	rec := v.p.Rec
	var open []int32
	add := func(k workKind, x piece) {
		if v.pieces[k] == nil {
			v.kinds = append(v.kinds, k)
		}
		v.pieces[k] = append(v.pieces[k], x)
	}
	ops := v.p.Lists[list].Ops
	for k := range ops {
		o := &ops[k]
		at := model.Place{List: list, Op: int32(k)}
		switch {
		case o.Kind == model.OpOpen:
			v.opened[o.Arg] = at
			open = append(open, o.Arg)
		case o.Kind == model.OpClose:
			v.closed[o.Arg] = at
			i := slices.Index(open, o.Arg)
			if i < 0 {
				continue
			}
			open = slices.Delete(open, i, i+1)
			if s := &rec.Spans[o.Arg]; v.rare(v.spans[s.Region], s.Parent) {
				began := v.opened[o.Arg]
				add(workKind{s.Region, trace.None}, piece{Occasion{began, at.Op, ops[began.Op].At - rec.Start, o.At - rec.Start}, s.Parent})
			}
		case o.Kind == model.OpOut && o.Site != 0 && (o.Reason == trace.WaitTimer || o.Reason == trace.WaitNetwork):
			parent := int32(trace.None)
			if len(open) > 0 {
				parent = open[len(open)-1]
			}
			add(workKind{trace.None, v.sites[o.Site]}, piece{Occasion{at, at.Op, o.At - o.D - rec.Start, o.At - rec.Start}, parent})
		}
	}
}

// within has the spans around the work be the rounds.
func (v *surveyor) within(work *Occasional, pieces []piece) {
	rec := v.p.Rec
	around := make([]bool, len(rec.Regions))
	took := map[int32]int64{} // by span
	for i := range pieces {
		if s := pieces[i].parent; s >= 0 {
			around[rec.Spans[s].Region] = true
			took[s] += pieces[i].took()
		}
	}
	remote := rec.RemoteParents()
	tops := map[int32]bool{} // whether the request that begins with a span has the work
	for i := range rec.Spans {
		if !around[rec.Spans[i].Region] || v.opened[i].List < 0 || v.closed[i].List < 0 {
			continue
		}
		top := v.top(int32(i), remote)
		tops[top] = tops[top] || took[int32(i)] > 0
		work.Rounds = append(work.Rounds, Round{
			v.p.Op(v.opened[i]).At - rec.Start, v.p.Op(v.closed[i]).At - rec.Start, v.opened[top].List, took[int32(i)],
		})
	}
	having := 0
	for _, has := range tops {
		if has {
			having++
		}
	}
	if len(tops) >= cond.LeastRounds && float64(having) > cond.MostTaken*float64(len(tops)) { // one of several like spans of each request
		work.Rounds = nil
	}
}

// top returns the span that a request began with.
func (v *surveyor) top(s int32, remote map[uint64]int32) int32 {
	spans := v.p.Rec.Spans
	for range spans { // none is among its own parents, unless a trace is made so
		up := spans[s].Parent
		if up < 0 && spans[s].Remote != 0 {
			up = remote[spans[s].Remote]
		}
		if up < 0 || v.opened[up].List < 0 {
			break
		}
		s = up
	}
	return s
}

// between has rounds go from one visit of a progress point to the next one on the same goroutine,
// or from one end of a span to the next.
func (v *surveyor) between(work *Occasional, pieces []piece) {
	p := v.p
	on := map[int32][]Occasion{} // by list, in order
	for i := range pieces {
		on[pieces[i].List] = append(on[pieces[i].List], pieces[i].Occasion)
	}
	end, ok := v.delimiter(work, on, len(pieces))
	if !ok {
		return
	}
	for l := range p.Lists {
		first, since := 0, int64(trace.None)
		mine := on[int32(l)]
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if a, ok := v.delimits(work, o); !ok || a != end {
				continue
			}
			took := int64(0)
			for len(mine) > 0 && int(mine[0].Op) < k {
				if int(mine[0].Op) >= first {
					took += mine[0].took()
				}
				mine = mine[1:]
			}
			if since >= 0 {
				work.Rounds = append(work.Rounds, Round{since, o.At - p.Rec.Start, int32(l), took})
			}
			first, since = k, o.At-p.Rec.Start
		}
	}
}

// delimits reports whether a round may end with an op.
func (v *surveyor) delimits(work *Occasional, o *model.Op) (cond.Anchor, bool) {
	switch o.Kind {
	case model.OpVisit:
		return cond.Anchor{Kind: model.OpVisit, Arg: o.Arg}, true
	case model.OpClose:
		s := &v.p.Rec.Spans[o.Arg]
		return cond.Anchor{Kind: model.OpClose, Arg: s.Region}, s.Region != work.Region && s.Parent < 0
	}
	return cond.Anchor{}, false
}

// delimiter returns what ends rounds: the progress point that the goroutines which do the work
// visit most often, or else their spans of the region with the most.
func (v *surveyor) delimiter(work *Occasional, on map[int32][]Occasion, n int) (best cond.Anchor, ok bool) {
	counts := map[cond.Anchor]int{}
	for l := range on {
		for k := range v.p.Lists[l].Ops {
			if a, ok := v.delimits(work, &v.p.Lists[l].Ops[k]); ok {
				counts[a]++
			}
		}
	}
	for a, all := range counts {
		if float64(n) > cond.MostTaken*float64(all) {
			continue
		}
		better := cmp.Compare(all, counts[best])
		if (a.Kind == model.OpVisit) != (best.Kind == model.OpVisit) {
			better = 1
			if a.Kind != model.OpVisit {
				better = -1
			}
		}
		if !ok || better > 0 || better == 0 && infer.Less(a, best) {
			best, ok = a, true
		}
	}
	return best, ok
}

// matters reports whether work is occasional, and takes enough of the rounds' time.
func (w *Occasional) matters(pieces []piece) bool {
	var took, all int64
	for i := range pieces {
		w.Occasions = append(w.Occasions, pieces[i].Occasion)
		took += pieces[i].took()
	}
	taken := 0
	for i := range w.Rounds {
		all += w.Rounds[i].Until - w.Rounds[i].At
		if w.Rounds[i].taken() {
			taken++
		}
	}
	if len(w.Rounds) < cond.LeastRounds || taken < cond.LeastOccasions || float64(taken) > cond.MostTaken*float64(len(w.Rounds)) {
		return false
	}
	w.share = float64(took) / float64(max(1, all))
	slices.SortStableFunc(w.Occasions, func(a, b Occasion) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(w.Rounds, func(a, b Round) int { return cmp.Compare(a.At, b.At) })
	return w.share >= cond.LeastShare
}
