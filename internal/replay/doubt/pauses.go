package doubt

import (
	"maps"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A pause is a wait for a timer that not each request has, or not as often: before something is
// tried again (back-off), until something else is there (polling), or for what did not come in time
// (deadline). Whether there is one is decided by time, mostly: by whether a lock is free just then,
// or a call is over soon enough. The replay has the pauses of the recording, though faster requests
// would have fewer, or more. By how much that matters is shown by how much longer the requests are
// that have some.
//
//	work 2 ms |                           | visit   70 requests
//	work 2 ms | TryLock fails, sleep 1 ms | visit   30 requests: 13 % of all time is theirs
//
// A pause is a wait that a timer ended, of model.leastPause (50 us) or more: time.Sleep, a select
// statement or receive that ended by a timer, or a wait for a context that ended by its deadline
// (context.WithDeadlineCause in Go's context/context.go has time.AfterFunc close the channel in a
// goroutine of its own, so that the wait is Called).
//
// Not all such waits are in doubt. What each request has as often, what each n-th one has, and what
// all spans of a region have as often, is what the program does, not what time decides. A region
// that simulates its work by a sleep has its sleep as its body. TestPauses in package replay has
// deadlines, back-off and back-off in child goroutines, and all these that are in no doubt.
//
// The part is what requests would save if all had as few pauses as those with the fewest. Legs that
// are longer for another reason, and have pauses for the same one, make it too large.

// leastDelay is which part is left out, or a smaller one: what legs differ by anyway.
const leastDelay = 0.01

// A pausing identifies the pauses at one place: those ended by a deadline of a context apart from
// others.
type pausing struct {
	site   int32 // of the program, by number
	called bool  // a goroutine that a timer started ended it
}

// A pause is an op that is one.
type pause struct {
	pausing
	region int32 // of the innermost span that is open, none for no span
}

// A leg is part of what a goroutine does: from one visit of a progress point to the next, or one
// span.
type leg struct {
	list      int32
	at, until int64           // on the recording's clock, ns
	pauses    map[pausing]int // how many of each kind; nil for none
}

// A pauser finds pauses.
type pauser struct {
	p    *model.Program
	of   []int32            // places in the program, by site
	all  []map[int32]pause  // by list: the ops that are pauses; nil for none
	body []map[pausing]bool // by region: the kinds that all of its spans have as often
	own  []map[pausing]int  // by list: its pauses that are not the body of a span; nil for none
}

// Pauses returns, by progress point, by how much longer that time between visits is than without
// the pauses that only some of the legs have: on the goroutines that visit it and their child
// goroutines, and on the servers of others. Parts of leastDelay or less are left out, but for
// missed deadlines. A server, as a worker that retries, delays requests of any point, so that its
// part counts at all of them.
func Pauses(p *model.Program) map[string]Delay {
	if !mayPause(p) {
		return nil
	}
	u := pauser{p: p, of: cond.UsedAt(p), all: make([]map[int32]pause, len(p.Lists)), own: make([]map[pausing]int, len(p.Lists))}
	inSpans := make([]pausings, len(p.Rec.Regions))
	// Pauses first, then which of them are the body of a span, then what is left for each list: a
	// leg takes on the pauses of the goroutines that it starts.
	for i := range p.Lists {
		u.all[i] = u.pausesOf(&p.Lists[i], inSpans)
	}
	u.body = bodies(inSpans)
	u.findOwn()
	var serving Delay
	delayed := make([]bool, len(p.Points)) // progress points that goroutines with pauses visit
	for i := range p.Lists {
		p.Rec.Rests()
		if !u.has(int32(i)) {
			continue
		}
		cond.Visits(p, int32(i), delayed)
		if serves(p, &p.Lists[i]) {
			own := make([][]leg, 1)
			u.legs(own, int32(i), func(o *model.Op) int32 {
				if o.Kind == model.OpClose && o.Free {
					return 0
				}
				return trace.None
			})
			serving.add(delayOf(own[0]))
		}
	}
	// Legs of all goroutines are held against each other, those without pauses too: these show how
	// long it takes without.
	legs := make([][]leg, len(p.Points))
	for i := range p.Lists {
		if !slices.Contains(delayed, true) {
			break
		}
		u.legs(legs, int32(i), func(o *model.Op) int32 {
			if point := p.Visit(o); point >= 0 && delayed[point] {
				return point
			}
			return trace.None
		})
	}
	parts := map[string]Delay{}
	for point := range p.Points {
		p.Rec.Rests()
		d := delayOf(legs[point])
		d.add(serving)
		if d.Part > leastDelay || d.Missed > 0 {
			parts[p.Points[point].Name] = d
		}
	}
	return parts
}

// findOwn counts the pauses of each list that are not the body of a span.
func (u *pauser) findOwn() {
	for i := range u.all {
		if u.all[i] == nil {
			continue
		}
		u.walk(int32(i), func(_ *model.Op, x pausing, paused bool) {
			if paused {
				u.own[i] = more(u.own[i], x, 1)
			}
		})
	}
}

// has reports whether a goroutine has pauses, or starts goroutines that have some. The legs of
// others have none.
func (u *pauser) has(list int32) bool {
	return u.all[list] != nil || slices.ContainsFunc(u.p.Lists[list].Ops, func(o model.Op) bool { return o.Kind == model.OpSpawn && u.own[o.Arg] != nil })
}

// mayPause reports whether a goroutine waits for a timer for long.
func mayPause(p *model.Program) bool {
	for _, o := range p.All() {
		if o.Pauses() {
			return true
		}
	}
	return false
}

// serves reports whether a goroutine that was there before the window has spans, and lets others go
// on, but visits no progress point. Its spans that have no parent are a progress point only where
// the program counts none itself.
func serves(p *model.Program, l *model.List) bool {
	spans, gives := false, false
	for k := range l.Ops {
		switch o := &l.Ops[k]; o.Kind {
		case model.OpVisit:
			return false
		case model.OpClose:
			spans = true
			if p.PointOf[o.Arg] >= 0 && p.Rec.Spans[o.Arg].Parent < 0 && len(p.Rec.Points) == 0 {
				return false
			}
		case model.OpWake, model.OpSend:
			gives = true
		}
	}
	return spans && gives && !l.Born
}

// pausesOf finds the pauses of a list, and adds those in its spans. Select statements that are
// decided anew have none, and neither has what comes behind a timer that ended one of them, since
// the replay has it as often as is due. Spans that end on another goroutine have none.
func (u *pauser) pausesOf(l *model.List, inSpans []pausings) map[int32]pause {
	p := u.p
	var all map[int32]pause
	type opened struct {
		span   int32
		pauses map[pausing]int
	}
	var open []opened
	decided, ends := false, l.Closes()
	for k := range l.Ops {
		o := &l.Ops[k]
		switch o.Kind {
		case model.OpOpen:
			if ends[o.Arg] {
				open = append(open, opened{span: o.Arg})
			}
		case model.OpClose:
			i := slices.IndexFunc(open, func(x opened) bool { return x.span == o.Arg })
			if i < 0 {
				continue
			}
			// All spans count, and those with pauses are kept.
			spans := &inSpans[p.Rec.Spans[o.Arg].Region]
			spans.n++
			if pauses := open[i].pauses; pauses != nil {
				spans.legs = append(spans.legs, leg{pauses: pauses})
			}
			open = slices.Delete(open, i, i+1)
		case model.OpChoose:
			decided = decided || o.Arg >= 0 && p.Choices[o.Arg].Object == trace.None
			continue
		}
		if p.IsVisit(o) {
			decided = false
		}
		if !o.Pauses() || decided {
			continue
		}
		x := pause{pausing{u.of[o.Site], o.Called}, trace.None}
		if n := len(open); n > 0 {
			x.region = p.Rec.Spans[open[n-1].span].Region
			open[n-1].pauses = more(open[n-1].pauses, x.pausing, 1)
		}
		if all == nil {
			all = map[int32]pause{}
		}
		all[int32(k)] = x
	}
	return all
}

// more adds n to a count, in place, and makes the map if there is none: most legs have no pauses.
func more(counts map[pausing]int, x pausing, n int) map[pausing]int {
	if counts == nil {
		counts = map[pausing]int{}
	}
	counts[x] += n
	return counts
}

// pausings are of the spans of a region.
type pausings struct {
	n    int   // spans
	legs []leg // the legs that have pauses
}

// bodies returns which pauses all spans around them have as often: that is what these do.
func bodies(inSpans []pausings) []map[pausing]bool {
	all := make([]map[pausing]bool, len(inSpans))
	for region, spans := range inSpans {
		all[region] = map[pausing]bool{}
		for x := range kindsIn(spans.legs) {
			all[region][x] = settled(spans.n, spans.legs, x)
		}
	}
	return all
}

func kindsIn(legs []leg) map[pausing]bool {
	kinds := map[pausing]bool{}
	for i := range legs {
		for x := range legs[i].pauses {
			kinds[x] = true
		}
	}
	return kinds
}

// settled reports whether most of n legs have the same number of pauses of a kind: hidden.Fairness,
// 95 %, of them. That number may be 0, where pauses are too few to matter. Legs has all that have
// pauses of any kind, and may have others.
func settled(n int, legs []leg, x pausing) bool {
	most := n - len(legs)
	often := map[int]int{0: most}
	for i := range legs {
		has := legs[i].pauses[x]
		often[has]++
		most = max(most, often[has])
	}
	return float64(most) >= hidden.Fairness*float64(n)
}

// walk goes through the ops of a list, and reports which are pauses that are not the body of the
// innermost span that is open.
func (u *pauser) walk(list int32, f func(o *model.Op, x pausing, paused bool)) {
	ops, mine := u.p.Lists[list].Ops, u.all[list]
	for k := range ops {
		u.p.Rec.RestsAt(k + 1)
		x, ok := mine[int32(k)]
		f(&ops[k], x.pausing, ok && (x.region < 0 || !u.body[x.region][x.pausing]))
	}
}

// legs adds the legs of a list to all, by what ends returns for the op at their end, none if it is
// no end: in one go, since there may be as many progress points as requests.
func (u *pauser) legs(all [][]leg, list int32, ends func(*model.Op) int32) {
	type beginning struct {
		at     int64
		pauses map[pausing]int
	}
	// One running count for the list is enough: the pauses of a leg are what has come to it since
	// the leg began. The map is shared with the beginnings of legs until it changes (copy on
	// write), so that legs without pauses cost nothing.
	begun := map[int32]beginning{}
	var so map[pausing]int // the pauses since the list began; a copy is made once another is added to what a leg has begun with
	shared := false
	add := func(x pausing, n int) {
		if shared {
			so, shared = maps.Clone(so), false
		}
		so = more(so, x, n)
	}
	u.walk(list, func(o *model.Op, x pausing, paused bool) {
		switch {
		case paused:
			add(x, 1)
		case o.Kind == model.OpSpawn:
			for y, n := range u.own[o.Arg] {
				add(y, n)
			}
		default:
			to := ends(o)
			if to < 0 {
				return
			}
			// The first leg of a goroutine began before the window, unless the goroutine did not.
			from, ok := begun[to]
			if l := &u.p.Lists[list]; !ok && l.Born {
				from, ok = beginning{at: l.Created}, true
			}
			if ok {
				all[to] = append(all[to], leg{list, from.at, o.At, since(from.pauses, so)})
			}
			begun[to], shared = beginning{o.At, so}, true
		}
	})
}

// since returns the pauses that have come to the ones before.
func since(before, now map[pausing]int) (left map[pausing]int) {
	for x, n := range now {
		if n -= before[x]; n > 0 {
			left = more(left, x, n)
		}
	}
	return left
}

// A Delay is by which part of the time between visits that is longer for pauses, and whether they
// are for something that is not there yet, of which there are more once goroutines come for it
// sooner.
type Delay struct {
	Part float64 // of 1
	More bool    // what a faster region gains may be waited for: the interval has 0, too
	// Missed is which part of the legs missed a deadline, of 1, where others did not. As many
	// latencies may be any other once something is faster: which requests are late is decided anew.
	Missed float64
}

// add takes the larger parts.
func (d *Delay) add(x Delay) {
	d.Part, d.More, d.Missed = max(d.Part, x.Part), d.More || x.More, max(d.Missed, x.Missed)
}

// delayOf returns by which part legs are longer than legs with the fewest pauses of a kind whose
// number differs, for the kind where that is most. Legs of one list are next to each other, in
// order of time.
//
// If 70 legs without a pause take 2 ms and 30 with one take 3 ms, all take 2.3 ms on average, and
// the part is 1 - 2/2.3, or 0.13. Kinds are not added up: a leg may have several for one reason.
func delayOf(legs []leg) (most Delay) {
	if len(legs) < cond.LeastRounds {
		return most
	}
	for x := range kindsIn(legs) {
		if eachFew(legs, x) { // also where few legs have any: these may be the longest
			continue
		}
		fewest := legs[0].pauses[x]
		for i := range legs {
			fewest = min(fewest, legs[i].pauses[x])
		}
		// What comes sooner polls more often for what is not there yet, and misses no more
		// deadlines for that. So of the legs with more pauses than the fewest it is counted how
		// many have missed a deadline.
		var sum, least, n, deadlines int64
		for i := range legs {
			d := legs[i].until - legs[i].at
			sum += d
			if legs[i].pauses[x] == fewest {
				least, n = least+d, n+1
			} else if legs[i].missed() {
				deadlines++
			}
		}
		part := 1 - float64(least)/float64(n)*float64(len(legs))/float64(max(1, sum))
		missed := 0.0
		if x.called {
			missed = 1 - float64(n)/float64(len(legs))
		}
		most.add(Delay{part, part > LeastUnclear && float64(deadlines) < hidden.Fairness*float64(int64(len(legs))-n), missed})
	}
	return most
}

// missed reports whether a deadline was: a pause of any kind was ended by one.
func (l *leg) missed() bool {
	for x := range l.pauses {
		if x.called {
			return true
		}
	}
	return false
}

// eachFew reports whether each n-th leg of a goroutine has a pause, for an n above 1. That is
// counted, as a page that is written each tenth time, and not decided by time: a faster program has
// it as often for each visit. Legs of one list are next to each other, in order of time.
func eachFew(legs []leg, x pausing) bool {
	var counts []float64
	n, known := 0, false
	for i := range legs {
		if i > 0 && legs[i].list != legs[i-1].list {
			n, known = 0, false
		}
		n++
		if legs[i].pauses[x] == 0 {
			continue
		}
		if known {
			counts = append(counts, float64(n))
		}
		n, known = 0, true
	}
	slices.Sort(counts) // nearly all are the same, so that the middle one is
	return constant(counts, regular) && counts[len(counts)/2] > 1
}
