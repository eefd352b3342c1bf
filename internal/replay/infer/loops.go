package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// parents notes by which op each goroutine was started. Ops have their places only when nothing is
// taken out of lists any more.
func parents(p *model.Program) {
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpSpawn {
				p.Lists[o.Arg].Spawned = model.Place{List: int32(l), Op: int32(k)}
			}
		}
	}
}

// longestGap returns three times the longest time without a visit of any progress point.
func longestGap(p *model.Program) int64 {
	var all []int64
	for _, v := range p.Recorded() {
		all = append(all, v...)
	}
	slices.Sort(all)
	last, longest := int64(0), int64(5_000_000)
	for _, at := range append(all, p.Rec.End-p.Rec.Start) {
		longest = max(longest, at-last)
		last = at
	}
	return 3 * longest
}

// Median returns the median of v, which it sorts, or otherwise if v is empty.
func Median(v []int64, otherwise int64) int64 {
	if len(v) == 0 {
		return otherwise
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// closeLists finds where lists can begin anew, and what depends on that.
func closeLists(p *model.Program) {
	for i := range p.Lists {
		p.Rec.Rests()
		l := &p.Lists[i]
		if l.Born && (l.Ended || len(l.Ops) == 0) {
			continue
		}
		loop(p, l)
	}
	respawn(p)
	p.Rec.Rests()
	if p.Rec.Uses(ruleRecur) {
		recur(p)
	}
	p.Rec.Rests()
	for i := range p.Lists {
		l := &p.Lists[i]
		p.Travelling = p.Travelling || l.Serves >= 0
		for k := l.From; k < l.To; k++ {
			o := &l.Ops[k]
			l.Visits = l.Visits || o.Kind == model.OpVisit || o.Kind == model.OpClose && p.PointOf[o.Arg] >= 0
		}
	}
}

// loop lets a list begin anew behind the op that it comes back to over the longest time, at a
// moment when no span is open, or always the same are, and no lock is held.
func loop(p *model.Program, l *model.List) {
	loopAt(p, l, func(o *model.Op) bool { return o.Free })
	if l.To == 0 { // there may be no such moment: of the same spans, then
		loopAt(p, l, func(o *model.Op) bool { return o.Free || o.Loose })
	}
}

func loopAt(p *model.Program, l *model.List, may func(o *model.Op) bool) {
	type seen struct {
		cond.Anchor
		first, last int32
		n           int
		next        *seen // what came next the last time: most likely again
	}
	all := map[cond.Anchor]*seen{}
	before := &seen{}
	for i := range l.Ops {
		o := &l.Ops[i]
		if !may(o) {
			continue
		}
		a, ok := cond.AnchorOf(p, o)
		if !ok {
			continue
		}
		s := before.next
		if s == nil || s.Anchor != a {
			s = all[a]
		}
		if s == nil {
			s = &seen{Anchor: a, first: int32(i)}
			all[a] = s
		}
		before.next, before = s, s
		s.last = int32(i)
		s.n++
	}
	var best *seen
	var bestKey cond.Anchor
	var reach int64 = -1
	for a, s := range all {
		if s.n < 2 {
			continue
		}
		d := l.Ops[s.last].At - l.Ops[s.first].At
		if a.Kind == model.OpVisit { // where there is one, that is the end of a unit of work
			d += d / 20
		}
		if d > reach || d == reach && Less(a, bestKey) {
			best, bestKey, reach = s, a, d
		}
	}
	if best == nil || 2*reach < p.Rec.End-p.Rec.Start { // what it did in a burst would not go on
		return
	}
	l.From, l.To = best.first+1, best.last+1
	complete(p, l, bestKey, may)
	l.Rounds = nil
	if chooses(p) && l.Has(model.OpChoose) {
		for i := l.From - 1; i < l.To; i++ {
			if a, ok := cond.AnchorOf(p, &l.Ops[i]); ok && may(&l.Ops[i]) && (a == bestKey || a.Kind == model.OpSend && bestKey.Kind == model.OpSend && a.Set == bestKey.Set) { // the receiver of the last answer
				l.Rounds = append(l.Rounds, i)
			}
		}
	}
}

// Less orders anchors.
func Less(a, b cond.Anchor) bool {
	if a.Kind != b.Kind {
		return a.Kind < b.Kind
	}
	if a.Arg != b.Arg {
		return a.Arg < b.Arg
	}
	if a.Set != b.Set {
		return a.Set < b.Set
	}
	return a.Site < b.Site
}

// complete has the list begin anew before it starts goroutines that had not come to their end when
// the window did, if that leaves most of it.
func complete(p *model.Program, l *model.List, a cond.Anchor, may func(o *model.Op) bool) {
	for i := l.From; i < l.To; i++ {
		o := &l.Ops[i]
		if o.Kind != model.OpSpawn {
			continue
		}
		child := &p.Lists[o.Arg]
		if child.Ended || len(child.Ops) == 0 {
			continue
		}
		for k := i; k > l.From; k-- {
			q := &l.Ops[k]
			b := cond.Anchor{Kind: q.Kind, Arg: q.Arg, Site: q.Site, Set: q.Set}
			switch q.Kind {
			case model.OpClose:
				b.Arg, b.Site = p.Rec.Spans[q.Arg].Region, 0
			case model.OpVisit:
				b.Site = 0
			case model.OpWait, model.OpOut, model.OpDue:
				b.Arg = 0
			default:
				b.Site = 0
			}
			if may(q) && b == a {
				if 10*(q.At-l.Ops[l.From-1].At) >= 7*(l.Ops[l.To-1].At-l.Ops[l.From-1].At) {
					l.To = k + 1
				}
				return
			}
		}
		return
	}
}

// respawn looks at goroutines that were created in the window and are alive at its end: a goroutine
// that has come back to something is started only once.
func respawn(p *model.Program) {
	for i := range p.Lists {
		l := &p.Lists[i]
		if l.Born && !l.Ended && len(l.Ops) > 0 {
			loop(p, l)
		}
	}
}
