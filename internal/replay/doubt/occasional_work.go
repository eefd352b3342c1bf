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
// by fewer requests once requests are faster: T / ttl loads in T seconds, however many requests.
//
// Work is the spans of one region, or the waits at one place for a timer or the network. The
// chances to do it are rounds. Work within a span has the spans like that one as rounds:
//
//	|== request ==|  |== request == |load| ==|  |== request ==|     one of three rounds has a load
//
// Work on its own, as of a goroutine that flushes now and then, has what is between two visits of a
// progress point, or two ends of other spans. Work is occasional if less than half of the rounds
// have it and it takes enough of their time. Then periodicity.go looks for what decides on it, and
// work_per_time.go for what that changes. TestRhythm in package replay has caches of all kinds.

// An Occasion is when such work was done.
type Occasion struct {
	model.Place       // its first op
	Last        int32 // and its last one, in the same list
	At          int64 // when it begins, since the window's beginning, ns
	Until       int64 // and when it is over
}

func (o *Occasion) took() int64 { return max(1, o.Until-o.At) }

// A workKind is the spans of a region, or the waits at one place of the code. The other of the two
// is trace.None.
type workKind struct{ Region, site int32 }

// Occasional work is what less than half of the rounds have.
type Occasional struct {
	workKind
	Occasions []Occasion // in order of time
	Rounds    []Round    // in order of time
	share     float64    // of the rounds' time that it takes, of 1
}

// A Round is one time that the work may be done: the span around it, or what a goroutine does from
// one visit of a progress point to the next.
type Round struct {
	At, Until int64 // since the window's beginning, ns
	Owner     int32 // the goroutine with which the request began
	Took      int64 // the work, ns, 0 if it was not done
}

func (r *Round) taken() bool { return r.Took > 0 }

// A surveyor finds occasional work.
type surveyor struct {
	p      *model.Program
	sites  []int32       // places in the program, by site
	spans  []int         // how many, of each region
	visits int           // of the progress point with the most
	opened []model.Place // where each span begins, in list -1 for none
	closed []model.Place // where each span ends, in list -1 for none
	kinds  []workKind    // in the order in which they are found, so that answers do not vary
	pieces map[workKind][]piece
}

// A piece is one occasion of work of any kind.
type piece struct {
	Occasion
	parent int32 // the span around it, none if there is none
}

// FindOccasional returns the work that only some rounds have. It goes through the events and the
// ops once, and through the ops again for each kind of work outside of spans.
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
		// Work that is nearly always within a span has rounds within. Other spans, and waits that
		// are never within one, have rounds between. Waits of both kinds have no rounds.
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
	for e := range rec.All() { // the spans are those of other windows, too
		if e.Kind == trace.EvOpen {
			v.spans[rec.Spans[e.Ref].Region]++
		}
	}
	for _, at := range v.p.Recorded() {
		v.visits = max(v.visits, len(at))
	}
	v.opened = model.Nowhere(len(rec.Spans))
	v.closed = slices.Clone(v.opened)
}

// rare reports whether work that was done n times may be occasional, within a span or without one.
// It spares what each request does the cost of being looked at.
func (v *surveyor) rare(n int, parent int32) bool {
	all := v.visits
	if parent >= 0 {
		all = v.spans[v.p.Rec.Spans[parent].Region]
	}
	return float64(n) <= cond.MostTaken*float64(all)
}

// survey finds the spans of a list, and its waits for timers and the network. Pieces of a kind are
// in the order in which they are over, list by list. Spans that another goroutine ends than began
// them have no pieces, and are around none.
func (v *surveyor) survey(list int32) {
	rec := v.p.Rec
	var open []int32
	add := func(k workKind, x piece) {
		if v.pieces[k] == nil {
			v.kinds = append(v.kinds, k)
		}
		v.pieces[k] = append(v.pieces[k], x)
	}
	l := &v.p.Lists[list]
	ops, ends := l.Ops, l.Closes()
	for k := range ops {
		o := &ops[k]
		at := model.Place{List: list, Op: int32(k)}
		switch {
		case o.Kind == model.OpOpen:
			if v.opened[o.Arg] = at; ends[o.Arg] {
				open = append(open, o.Arg)
			}
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

// within has the spans around the work be the rounds. If most requests have the work in one of
// several spans alike, it is part of each request, and there are no rounds: of four queries each
// request has, one is always the slow one.
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
		// Rounds are of the goroutine that began the request, so that those of one client are
		// apart from those of others, though each has a goroutine of its own.
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

// top returns the span that a request began with: the outermost parent in the window, be it the
// parent of a span in the same process, or over a connection.
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
		// A round is known from its first delimiter on: what is before that is of a round which
		// began before the window.
		first, since := 0, int64(trace.None)
		mine := on[int32(l)]
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if a, ok := v.delimits(work, o); !ok || a != end {
				continue
			}
			// Work counts in the round in which it begins.
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

// delimits reports whether a round may end with an op: a visit, or the end of a span that has no
// parent and is not the work itself.
func (v *surveyor) delimits(work *Occasional, o *model.Op) (cond.Anchor, bool) {
	switch o.Kind {
	case model.OpVisit:
		return cond.WithinAny(v.p, o), true
	case model.OpClose:
		s := &v.p.Rec.Spans[o.Arg]
		return cond.WithinAny(v.p, o), s.Region != work.Region && s.Parent < 0
	}
	return cond.Anchor{}, false
}

// delimiter returns what ends rounds: the progress point that the goroutines which do the work
// visit most often, or else their spans of the region with the most. There must be more than twice
// as many of them as occasions, n, or the work is not occasional.
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
		// A visit comes before any span. The order of the map must not decide among equals.
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

// matters reports whether work is occasional, and takes enough of the rounds' time. It notes the
// occasions and the share, and puts occasions and rounds in the order of time.
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
