package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A window is a piece of a program that goes on. A replay with something faster comes to the end of
// its lists before the window is over, and needs to go on as the program would. Most goroutines
// repeat themselves: they come back to the same receive, the same end of a span, the same progress
// point. A list therefore begins anew behind an op that it has come back to, and a replay of any
// length has a steady state (a closed loop).
//
//	ops        a  b  [visit]  c  d  [visit]  c  d  [visit]  e
//	                          ^from                    to^
//	replayed   a  b  [visit]  c  d  [visit]  c  d  [visit]  c  d  [visit] ...
//
// It must not begin anew while it has something that the other end of the loop has not: an open
// span, a lock, an element of a pool. What is before from is done once, and what is behind to
// never; waits whose other side is there are dealt with by recur. A goroutine that does not repeat
// itself for half of the window is over when its list is: what it did in a burst would not go on.

// parents notes by which op each goroutine was started. Ops have their places only when nothing is
// taken out of lists any more, so that it is called again whenever places have changed. A goroutine
// that another one in the window did not start keeps what it has.
func parents(p *model.Program) {
	for at, o := range p.All() {
		if o.Kind == model.OpSpawn {
			p.Lists[o.Arg].Spawned = at
		}
	}
}

// longestGap returns three times the longest time without a visit of any progress point, ns, at
// least 15 ms: for how long a simulation may make no progress before it breaks a wait. A program
// that was once still for as long has not stopped. A shorter time would break waits that are only
// long, a longer one has a simulation that is stuck take longer to show it.
func longestGap(p *model.Program) int64 {
	all := slices.Concat(p.Recorded()...)
	slices.Sort(all)
	last, longest := int64(0), int64(5_000_000)
	// The ends of the window are gaps, too.
	for _, at := range append(all, p.Rec.End-p.Rec.Start) {
		longest = max(longest, at-last)
		last = at
	}
	return 3 * longest
}

// Median returns the median of v, which it sorts, or otherwise if v is empty. Of an even number it
// is the larger of the two in the middle.
func Median(v []int64, otherwise int64) int64 {
	if len(v) == 0 {
		return otherwise
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// closeLists finds where lists can begin anew, and what depends on that: waits whose other side is
// not repeated, whether work travels with requests, which lists make progress. A goroutine that was
// started and has come to its end in the window has no loop: it is started again by the list that
// did.
func closeLists(p *model.Program) {
	for i := range p.Lists {
		p.Rec.Rests()
		l := &p.Lists[i]
		if l.Born && (l.Ended || len(l.Ops) == 0) {
			continue
		}
		loop(p, l)
	}
	p.Rec.Rests()
	if p.Rec.Uses(ruleRecur) {
		recur(p)
	}
	p.Rec.Rests()
	for i := range p.Lists {
		l := &p.Lists[i]
		// With work that travels the lists cannot begin anew one by one, see Program.Travelling.
		p.Travelling = p.Travelling || l.Serves >= 0
		for k := l.From; k < l.To; k++ {
			o := &l.Ops[k]
			l.Visits = l.Visits || p.IsVisit(o)
		}
	}
}

// loop lets a list begin anew behind the op that it comes back to over the longest time, at a
// moment when no span is open, or always the same are, and no lock is held. It leaves To 0 if there
// is no such op.
func loop(p *model.Program, l *model.List) {
	loopAt(p, l, func(o *model.Op) bool { return o.Free })
	// Where a goroutine has a span as long as it lives there is no free op at all.
	if l.To == 0 { // there may be no such moment: of the same spans, then
		loopAt(p, l, func(o *model.Op) bool { return o.Free || o.Loose })
	}
}

// A recurrence is an op that a list comes back to.
type recurrence struct {
	cond.Anchor
	first, last int32
	n           int
	visits, at  int         // rounds that hold a visit, and how many visits there were by the last
	next        *recurrence // what came next the last time: most likely again
}

// recurrences returns the ops that may end a round, by anchor: what they do, to what, where, with
// which regions open. It takes as many steps as there are ops.
func recurrences(p *model.Program, l *model.List, may func(o *model.Op) bool) map[cond.Anchor]*recurrence {
	all := map[cond.Anchor]*recurrence{}
	before, visits := &recurrence{}, 0
	for i := range l.Ops {
		o := &l.Ops[i]
		if p.IsVisit(o) {
			visits++
		}
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
			s = &recurrence{Anchor: a, first: int32(i), at: visits}
			all[a] = s
		}
		if visits > s.at {
			s.visits++
		}
		s.at = visits
		before.next, before = s, s
		s.last = int32(i)
		s.n++
	}
	return all
}

// reach returns over which time a list comes back to an op, and more for what ends or holds one
// unit of work each time: visits are counted whole then. A progress point wins against others that
// reach 5 % farther, and what comes once for each visit against others that reach 4 % farther. What
// comes at several places would end the last round elsewhere than the first one began.
func (s *recurrence) reach(p *model.Program, l *model.List) int64 {
	d := l.Ops[s.last].At - l.Ops[s.first].At
	switch {
	case p.IsVisit(&l.Ops[s.last]):
		d += d / 20
	case 10*s.visits >= 9*(s.n-1):
		d += d / 25
	}
	return d
}

// loopAt is loop for the ops that may end a round. Of several anchors that cover the same time the
// lower one is taken (Less), for a result that does not depend on the order of a map.
func loopAt(p *model.Program, l *model.List, may func(o *model.Op) bool) {
	// The op with the longest reach is the one by which most of the list is repeated.
	var best *recurrence
	var bestKey cond.Anchor
	var reach int64 = -1
	for a, s := range recurrences(p, l, may) {
		if s.n < 2 {
			continue
		}
		if d := s.reach(p, l); d > reach || d == reach && Less(a, bestKey) {
			best, bestKey, reach = s, a, d
		}
	}
	if best == nil || 2*reach < p.Rec.End-p.Rec.Start { // what it did in a burst would not go on
		return
	}
	// From the first such op to the last: all rounds in between are one period, with what varies in
	// it.
	l.From, l.To = best.first+1, best.last+1
	complete(p, l, bestKey, may)
	// A list with select statements may go on elsewhere until a round is over, and needs to know
	// where rounds end. An answer sent by the same regions as the last one ends a round, whichever
	// client it is to.
	l.Rounds = nil
	if chooses(p) && l.Has(model.OpChoose) {
		for i := l.From - 1; i < l.To; i++ {
			if a, ok := cond.AnchorOf(p, &l.Ops[i]); ok && may(&l.Ops[i]) && (a == bestKey || a.Kind == model.OpSend && bestKey.Kind == model.OpSend && a.Set == bestKey.Set) { // the receiver of the last answer
				l.Rounds = append(l.Rounds, i)
			}
		}
	}
}

// Less orders anchors. The order has no meaning but to be the same each time.
func Less(a, b cond.Anchor) bool {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Arg, b.Arg), cmp.Compare(a.Set, b.Set), cmp.Compare(a.Site, b.Site)) < 0
}

// complete has the list begin anew before it starts goroutines that had not come to their end when
// the window did, if that leaves most of it: seven tenths of the time of its rounds. Such
// goroutines would be started each time round and never answer. It looks for the last op of anchor
// a before the first of these starts; if there is none, or too little is left, it leaves the list.
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
			if b, ok := cond.AnchorOf(p, q); ok && b == a && may(q) {
				if 10*(q.At-l.Ops[l.From-1].At) >= 7*(l.Ops[l.To-1].At-l.Ops[l.From-1].At) {
					l.To = k + 1
				}
				return
			}
		}
		return
	}
}
