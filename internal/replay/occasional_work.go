package replay

import (
	"cmp"
	"slices"
)

// Some work is not part of every request: a cached value is loaded where it is not there, a page is written each tenth time. The
// replay has it done by the same requests as in the recording, that is, per visit. What is done per time instead, as where a cached
// value has a time to live, is done by fewer requests once requests are faster.

// An occasion is when such work was done.
type occasion struct {
	place       // its first op
	last  int32 // and its last one
	at    int64 // since the window's beginning
	until int64
}

func (o *occasion) took() int64 { return max(1, o.until-o.at) }

// A workKind is the spans of a region, or the waits at one place of the code; none for not that.
type workKind struct{ region, site int32 }

// Occasional work is what less than half of the rounds have.
type occasional struct {
	workKind
	occasions []occasion // in order of time
	rounds    []round    // in order of time
	share     float64    // of the rounds' time that it takes
}

// A round is one time that the work may be done: the span around it, or what a goroutine does from one visit of a progress point to
// the next.
type round struct {
	at, until int64
	owner     int32 // the goroutine with which the request began
	took      int64 // the work, 0 if it was not done
}

func (r *round) taken() bool { return r.took > 0 }

const (
	// leastRounds is how many rounds it takes to call something occasional, and mostTaken is which part of them may have it.
	leastRounds = 30
	mostTaken   = 0.45
	// leastOccasions is how many times it must be done, and leastShare which part of the rounds' time it must take, for how often it is
	// done to matter.
	leastOccasions = 2
	leastShare     = 0.01
)

// A surveyor finds occasional work.
type surveyor struct {
	p      *program
	sites  []int32
	spans  []int // of each region
	visits int   // of the progress point with the most
	opened []place
	closed []place // of each span, in list -1 for none
	kinds  []workKind
	pieces map[workKind][]piece
}

// A piece is one occasion of work of any kind.
type piece struct {
	occasion
	parent int32 // the span around it, none if there is none
}

// occasional returns the work that only some rounds have.
func (p *program) occasional() []occasional {
	v := &surveyor{p: p, sites: p.usedAt(), pieces: map[workKind][]piece{}}
	v.count()
	for l := range p.lists {
		v.survey(int32(l))
	}
	var all []occasional
	for _, kind := range v.kinds {
		pieces := v.pieces[kind]
		work := occasional{workKind: kind}
		spanned := 0
		for i := range pieces {
			if pieces[i].parent >= 0 {
				spanned++
			}
		}
		switch {
		case len(pieces) < leastOccasions:
			continue
		case float64(spanned) >= fairness*float64(len(pieces)):
			v.within(&work, pieces)
		case kind.region >= 0 || spanned == 0:
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
	rec := v.p.rec
	v.spans = make([]int, len(rec.regions))
	for i := range rec.events { // the spans are those of other windows, too
		rec.restsAt(i)
		if e := &rec.events[i]; e.kind == evOpen {
			v.spans[rec.spans[e.ref].region]++
		}
	}
	for _, at := range v.p.recorded() {
		v.visits = max(v.visits, len(at))
	}
	v.opened = slices.Repeat([]place{{none, none}}, len(rec.spans))
	v.closed = slices.Clone(v.opened)
}

// rare reports whether work that was done so often may be occasional, within a span or without one.
func (v *surveyor) rare(n int, parent int32) bool {
	all := v.visits
	if parent >= 0 {
		all = v.spans[v.p.rec.spans[parent].region]
	}
	return float64(n) <= mostTaken*float64(all)
}

// survey finds the spans of a list, and its waits for timers and the network.
func (v *surveyor) survey(list int32) {
	rec := v.p.rec
	var open []int32
	add := func(k workKind, x piece) {
		if v.pieces[k] == nil {
			v.kinds = append(v.kinds, k)
		}
		v.pieces[k] = append(v.pieces[k], x)
	}
	ops := v.p.lists[list].ops
	for k := range ops {
		o := &ops[k]
		at := place{list, int32(k)}
		switch {
		case o.kind == opOpen:
			v.opened[o.arg] = at
			open = append(open, o.arg)
		case o.kind == opClose:
			v.closed[o.arg] = at
			i := slices.Index(open, o.arg)
			if i < 0 {
				continue
			}
			open = slices.Delete(open, i, i+1)
			if s := &rec.spans[o.arg]; v.rare(v.spans[s.region], s.parent) {
				began := v.opened[o.arg]
				add(workKind{s.region, none}, piece{occasion{began, at.op, ops[began.op].at - rec.Start, o.at - rec.Start}, s.parent})
			}
		case o.kind == opOut && o.site != 0 && (o.reason == waitTimer || o.reason == waitNetwork):
			parent := int32(none)
			if len(open) > 0 {
				parent = open[len(open)-1]
			}
			add(workKind{none, v.sites[o.site]}, piece{occasion{at, at.op, o.at - o.d - rec.Start, o.at - rec.Start}, parent})
		}
	}
}

// within has the spans around the work be the rounds.
func (v *surveyor) within(work *occasional, pieces []piece) {
	rec := v.p.rec
	around := make([]bool, len(rec.regions))
	took := map[int32]int64{} // by span
	for i := range pieces {
		if s := pieces[i].parent; s >= 0 {
			around[rec.spans[s].region] = true
			took[s] += pieces[i].took()
		}
	}
	remote := rec.remoteParents()
	tops := map[int32]bool{} // whether the request that begins with a span has the work
	for i := range rec.spans {
		if !around[rec.spans[i].region] || v.opened[i].list < 0 || v.closed[i].list < 0 {
			continue
		}
		top := v.top(int32(i), remote)
		tops[top] = tops[top] || took[int32(i)] > 0
		work.rounds = append(work.rounds, round{
			v.p.op(v.opened[i]).at - rec.Start, v.p.op(v.closed[i]).at - rec.Start, v.opened[top].list, took[int32(i)],
		})
	}
	having := 0
	for _, has := range tops {
		if has {
			having++
		}
	}
	if len(tops) >= leastRounds && float64(having) > mostTaken*float64(len(tops)) { // one of several like spans of each request
		work.rounds = nil
	}
}

// top returns the span that a request began with.
func (v *surveyor) top(s int32, remote map[uint64]int32) int32 {
	spans := v.p.rec.spans
	for range spans { // none is among its own parents, unless a trace is made so
		up := spans[s].parent
		if up < 0 && spans[s].remote != 0 {
			up = remote[spans[s].remote]
		}
		if up < 0 || v.opened[up].list < 0 {
			break
		}
		s = up
	}
	return s
}

// between has rounds go from one visit of a progress point to the next one on the same goroutine, or from one end of a span to the
// next.
func (v *surveyor) between(work *occasional, pieces []piece) {
	p := v.p
	on := map[int32][]occasion{} // by list, in order
	for i := range pieces {
		on[pieces[i].list] = append(on[pieces[i].list], pieces[i].occasion)
	}
	end, ok := v.delimiter(work, on, len(pieces))
	if !ok {
		return
	}
	for l := range p.lists {
		first, since := 0, int64(none)
		mine := on[int32(l)]
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if a, ok := v.delimits(work, o); !ok || a != end {
				continue
			}
			took := int64(0)
			for len(mine) > 0 && int(mine[0].op) < k {
				if int(mine[0].op) >= first {
					took += mine[0].took()
				}
				mine = mine[1:]
			}
			if since >= 0 {
				work.rounds = append(work.rounds, round{since, o.at - p.rec.Start, int32(l), took})
			}
			first, since = k, o.at-p.rec.Start
		}
	}
}

// delimits reports whether a round may end with an op.
func (v *surveyor) delimits(work *occasional, o *op) (anchor, bool) {
	switch o.kind {
	case opVisit:
		return anchor{kind: opVisit, arg: o.arg}, true
	case opClose:
		s := &v.p.rec.spans[o.arg]
		return anchor{kind: opClose, arg: s.region}, s.region != work.region && s.parent < 0
	}
	return anchor{}, false
}

// delimiter returns what ends rounds: the progress point that the goroutines which do the work visit most often, or else their spans of the
// region with the most.
func (v *surveyor) delimiter(work *occasional, on map[int32][]occasion, n int) (best anchor, ok bool) {
	counts := map[anchor]int{}
	for l := range on {
		for k := range v.p.lists[l].ops {
			if a, ok := v.delimits(work, &v.p.lists[l].ops[k]); ok {
				counts[a]++
			}
		}
	}
	for a, all := range counts {
		if float64(n) > mostTaken*float64(all) {
			continue
		}
		better := cmp.Compare(all, counts[best])
		if (a.kind == opVisit) != (best.kind == opVisit) {
			better = 1
			if a.kind != opVisit {
				better = -1
			}
		}
		if !ok || better > 0 || better == 0 && less(a, best) {
			best, ok = a, true
		}
	}
	return best, ok
}

// matters reports whether work is occasional, and takes enough of the rounds' time.
func (w *occasional) matters(pieces []piece) bool {
	var took, all int64
	for i := range pieces {
		w.occasions = append(w.occasions, pieces[i].occasion)
		took += pieces[i].took()
	}
	taken := 0
	for i := range w.rounds {
		all += w.rounds[i].until - w.rounds[i].at
		if w.rounds[i].taken() {
			taken++
		}
	}
	if len(w.rounds) < leastRounds || taken < leastOccasions || float64(taken) > mostTaken*float64(len(w.rounds)) {
		return false
	}
	w.share = float64(took) / float64(max(1, all))
	slices.SortStableFunc(w.occasions, func(a, b occasion) int { return cmp.Compare(a.at, b.at) })
	slices.SortStableFunc(w.rounds, func(a, b round) int { return cmp.Compare(a.at, b.at) })
	return w.share >= leastShare
}
