package hidden

import (
	"cmp"
	"slices"
	"sort"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A Part is the meetings that may be of one lock or channel, and the ends of waits for it from
// before the window.
type Part struct{ Meetings, Ends []int32 }

// Parts groups the meetings that may be of one lock or channel: at the same places in the code, and
// of goroutines that meet there. Goroutines that come and go count by where they are created.
func (t *Traces) Parts() []Part {
	slots := model.NewUnion(len(t.slots))
	for _, m := range t.meetings {
		slots.Join(t.actions[m.wait].slot, t.actions[m.wake].slot)
	}
	for release, acquire := range t.pairs() {
		slots.Join(acquire, release)
	}
	n := int32(len(t.kinds))
	kinds := model.NewUnion(int(n) + len(t.rec.Sites))
	who := func(g int32) int32 {
		if k := t.kinds[g]; k >= 0 {
			return n + k
		}
		return g
	}
	var all []Part
	for _, group := range model.Grouped(len(t.meetings), func(i int32) int32 { return slots.Find(t.actions[t.meetings[i].wait].slot) }) {
		kinds.Reset()
		for _, i := range group {
			kinds.Join(who(t.meetings[i].Waiter.List), who(t.meetings[i].Waker.List))
		}
		slot := slots.Find(t.actions[t.meetings[group[0]].wait].slot)
		var ends []ending
		for _, x := range t.ends {
			if a := &t.actions[x.action]; slots.Find(a.slot) == slot {
				kinds.Join(who(a.g), who(x.waiter))
				ends = append(ends, x)
			}
		}
		for _, of := range model.Grouped(len(group), func(k int32) int32 { return kinds.Find(who(t.meetings[group[k]].Waiter.List)) }) {
			if len(of) < LeastHandovers {
				continue
			}
			for k := range of {
				of[k] = group[of[k]]
			}
			p := Part{Meetings: of}
			kind := kinds.Find(who(t.meetings[of[0]].Waiter.List))
			for _, x := range ends {
				if kinds.Find(who(x.waiter)) == kind {
					p.Ends = append(p.Ends, x.action)
				}
			}
			all = append(all, p)
		}
	}
	return all
}

// A gap is the time between two landmarks of a goroutine, and the actions of one part in it.
type gap struct {
	g          int32
	last, next landmark // 0 where the recording has none
	pair       int32    // of both, where it is known
	from, to   int32    // events
	ran, until int64
	actions    []int32
}

// An explanation is one lock or channel, or several locks, and the operations on it.
type explanation struct {
	t        *Traces
	lock     bool
	capacity int32
	meetings []int32
	seen     []int32  // actions
	told     []unseen // operations that the recording does not show
	number   []int32  // of each candidate among those, -1 for none
	order    []Incident
	now      []Incident // scratch of incidents
	lockings int        // places in the code where it is locked
	trace.Pool
	deal *Deal // of several locks, else nil
}

// unseen is an operation that neither waited nor let another goroutine go on.
type unseen struct {
	g      int32
	what   mark.Op
	before int32 // the event that it comes before
	rank   float64
	at     int64
	slot   int32 // at which it is done elsewhere
	gap    int32
}

// mostTried bounds the combinations of assumptions.
const mostTried = 81

// explain infers the operations of a part by the combination of assumptions that agrees best with
// the waits, nil if none does.
func (t *Traces) explain(p Part) *explanation {
	x := &explanation{t: t, meetings: p.Meetings}
	var of []bool
	x.seen, of = t.actionsOf(p)
	x.lock = isLock(t.slots[t.actions[x.seen[0]].slot].what)
	if x.lock && t.waiting(p.Meetings) <= Incidental {
		return nil
	}
	gaps := t.gaps(x.seen, of)
	habits := t.habits(gaps)
	x.Unordered = !x.lock && !t.queues(p.Meetings)
	may := t.candidates(gaps, habits)
	x.order = x.possible(may)
	if x.assume(may, habits, x.contradicted) {
		if (x.Unordered || t.selects(p.Meetings)) && !x.places() {
			return nil // they may be of several channels, of one request each
		}
		return x
	}
	if x.Unordered {
		return nil
	}
	for _, h := range habits {
		if h.what == mark.Lock {
			x.lockings++
		} else if h.what != mark.Unlock {
			return nil
		}
	}
	if !x.assume(may, habits, func() float64 {
		x.deal = x.dealt()
		return x.deal.contradicted()
	}) {
		return nil
	}
	x.deal.Count()
	return x
}

// assume infers the operations by the combination of assumptions that is contradicted least, and
// reports whether that is little.
func (x *explanation) assume(may []candidate, habits []habit, contradicted func() float64) bool {
	choice := make([]assumption, len(habits))
	var best []assumption
	least := 1 - Fairness
	for range mostTried {
		x.tell(may, choice)
		if wrong := contradicted(); wrong < least || wrong == least && best == nil {
			best, least = slices.Clone(choice), wrong
		}
		if least == 0 || !nextChoice(choice, habits) {
			break
		}
	}
	if best == nil {
		return false
	}
	x.tell(may, best)
	contradicted()
	return true
}

// actionsOf returns the operations of a part that are seen, in order.
func (t *Traces) actionsOf(p Part) (seen []int32, of []bool) {
	seen = slices.Clone(p.Ends)
	for _, i := range p.Meetings {
		seen = append(seen, t.meetings[i].wait, t.meetings[i].wake)
	}
	slices.Sort(seen)
	seen = slices.Compact(seen)
	of = make([]bool, len(t.actions))
	for _, a := range seen {
		of[a] = true
	}
	return seen, of
}

// nextChoice goes on to the next combination.
func nextChoice(choice []assumption, habits []habit) bool {
	for k := range choice {
		if habits[k].repeats {
			continue
		}
		if choice[k]++; choice[k] < assumptions {
			return true
		}
		choice[k] = betweenBoth
	}
	return false
}

// waiting returns which part of the window is waited for a lock. Where that is little, it does not
// matter which goroutine holds it.
func (t *Traces) waiting(part []int32) float64 {
	var total int64
	for _, i := range part {
		total += t.meetings[i].At - t.meetings[i].From
	}
	return float64(total) / float64(max(1, t.rec.End-t.rec.Start))
}

// selects reports whether goroutines wait there in select statements.
func (t *Traces) selects(part []int32) bool {
	return slices.ContainsFunc(part, func(i int32) bool { return t.rec.Events[t.actions[t.meetings[i].wait].from].Arg == trace.WaitSelect })
}

// queues reports whether the goroutine that waits longest is served first, as at one channel
// (FIFO).
func (t *Traces) queues(part []int32) bool {
	all := make([]model.Handover, len(part))
	order := make([]int32, len(part))
	for k, i := range part {
		all[k], order[k] = t.meetings[i].Handover, int32(k)
	}
	fair, judged := InTurn(all, order)
	return float64(fair) >= Fairness*float64(judged)
}

// gaps returns those of all goroutines that may do what is seen: the ones that do, and those
// created where they are.
func (t *Traces) gaps(seen []int32, of []bool) []gap {
	who, kinds := map[int32]bool{}, map[int32]bool{}
	for _, a := range seen {
		g := t.actions[a].g
		who[g] = true
		if k := t.kinds[g]; k >= 0 {
			kinds[k] = true
		}
	}
	var among []int32
	n := 0
	for g := range t.steps {
		if who[int32(g)] || t.kinds[g] >= 0 && kinds[t.kinds[g]] {
			among = append(among, int32(g))
			n += len(t.steps[g]) + 1
		}
	}
	all := make([]gap, 0, n)
	for _, g := range among {
		now := gap{g: g, from: -1}
		for i, s := range t.steps[g] {
			t.rec.RestsAt(i)
			if s.action >= 0 {
				if of[s.action] && (len(now.actions) == 0 || now.actions[len(now.actions)-1] != s.action) {
					now.actions = append(now.actions, s.action)
				}
				continue
			}
			now.next, now.to, now.until = s.mark, s.event, s.ran
			now.pair = t.pair(now.last, now.next)
			all = append(all, now)
			now = gap{g: g, last: s.mark, from: s.event, ran: s.ran}
		}
		if len(now.actions) > 0 {
			now.to, now.until = int32(len(t.rec.Events)), now.ran
			now.pair = t.pair(now.last, 0)
			all = append(all, now)
		}
	}
	return all
}

// A candidate is an operation that is not seen, and done if its habit is assumed to be kept.
type candidate struct {
	unseen
	habit int
	by    [assumptions]bool // whether it is done by each
}

// candidates returns the operations that may be done unseen, by any assumption.
func (t *Traces) candidates(gaps []gap, habits []habit) []candidate {
	order := make([]int, len(habits))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(habits[a].where(), habits[b].where()), cmp.Compare(habits[a].what, habits[b].what))
	})
	var all []candidate
	for i := range gaps {
		t.rec.RestsAt(i)
		g := &gaps[i]
		for rank, k := range order {
			h := &habits[k]
			by := h.assumed(g)
			if by == [assumptions]bool{} || slices.ContainsFunc(g.actions, func(a int32) bool { return slices.Contains(h.slots, t.actions[a].slot) }) {
				continue
			}
			from, to, low, high := g.from, g.to, g.ran, g.until
			for _, a := range g.actions {
				y := &t.actions[a]
				other := slices.IndexFunc(order, func(k int) bool { return slices.Contains(habits[k].slots, y.slot) })
				if other < rank {
					from, low = max(from, y.from, y.to), max(low, y.ran)
				} else if y.from < to {
					to, high = y.from, min(high, y.ran)
				}
			}
			at := min(max(g.ran+int64(h.where()*float64(g.until-g.ran)), low), high)
			u := t.unseen(g.g, h.what, from, to, at, float64(rank))
			u.slot, u.gap = h.slots[0], int32(i)
			all = append(all, candidate{u, k, by})
		}
	}
	return all
}

// tell puts the unseen operations in place.
func (x *explanation) tell(all []candidate, choice []assumption) {
	x.told, x.number = x.told[:0], x.number[:0]
	for i := range all {
		x.t.rec.RestsAt(i)
		number := int32(-1)
		if c := &all[i]; c.by[choice[c.habit]] {
			number = int32(len(x.told))
			x.told = append(x.told, c.unseen)
		}
		x.number = append(x.number, number)
	}
}

// unseen is an operation of a goroutine when it has run for so long, between two events.
func (t *Traces) unseen(g int32, what mark.Op, from, to int32, ran int64, rank float64) unseen {
	u := unseen{g: g, what: what, before: to, rank: rank}
	events := t.rec.Events
	stretches := t.stretches[g]
	// The last one that begins before that, of those between the events.
	k := max(0, sort.Search(len(stretches), func(k int) bool { return stretches[k].ran > ran })-1)
	for k > 0 && stretches[k].from >= to {
		k--
	}
	for k+1 < len(stretches) && stretches[k].to <= from {
		k++
	}
	if k >= len(stretches) {
		u.at = events[min(int(to), len(events)-1)].At
		return u
	}
	s := stretches[k]
	u.at = s.at + ran - s.ran
	lowest, highest := max(from, s.from)+1, min(to, s.to)
	between := int(max(0, highest-lowest))
	u.before = lowest + int32(sort.Search(between, func(n int) bool { return events[int(lowest)+n].At >= u.at }))
	if int(u.before) < len(events) {
		u.at = min(u.at, events[u.before].At)
	}
	u.at = max(u.at, events[u.before-1].At)
	return u
}

// marks adds those of all operations on the object, or on objects from that on. Of is which one
// each operation is on, nil for one.
func (x *explanation) marks(all []inserted, object int32, of []int32) []inserted {
	arg := x.capacity
	if x.lock {
		arg = 0
	}
	events := x.t.rec.Events
	var now int32
	add := func(before int32, rank float64, at int64, g int32, what mark.Op) {
		all = append(all, inserted{before, rank, trace.Event{Kind: trace.EvOperate, At: at, G: g, By: trace.NoWaker, What: what, Ref: now, Arg: arg}})
	}
	on := func(operation int) {
		now = object
		if of != nil {
			now += of[operation]
		}
	}
	for k, i := range x.seen {
		on(k)
		a := &x.t.actions[i]
		what := x.t.slots[a.slot].what
		switch {
		case a.waited:
			if !a.since {
				add(a.from, 1, events[a.from].At, a.g, what.Beginning())
			}
			if a.to >= 0 {
				add(a.to+1, -1, events[a.to].At, a.g, what)
			}
		case what == mark.Receive:
			add(a.from+1, -1, events[a.from].At, a.g, what)
		default:
			add(a.from, 1, events[a.from].At, a.g, what)
		}
	}
	for k, u := range x.told {
		on(len(x.seen) + k)
		add(u.before, u.rank/1000, u.at, u.g, u.what)
	}
	return all
}

// Incidental is which part of the window a lock must be held or waited for, to matter.
const Incidental = 0.01
