package hidden

import (
	"cmp"
	"slices"
	"sort"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// The search for the hypothesis that explains the waits best. A stock trace has no addresses, so
// which waits are for one object must be inferred, too:
//
//  1. Parts: meetings at connected places of the code, of connected goroutines, are of one object.
//  2. gaps: what all goroutines that may use it did between their landmarks.
//  3. habits, candidates: which operations may be done unseen, and where (assume.go).
//  4. assume: the combination of assumptions with the least contradictions, 5 % at most (check.go).
//  5. If none fits one lock, the same for several locks at one place (lock_sharding.go).
//
// That the places are connected by wake-ups makes the first step right: an Unlock wakes a goroutine
// only from the lock that it gives back. Two objects that are used at the same places by the same
// goroutines look like one; for locks, step 5 takes them apart, for channels of one request each
// the part is refused.

// A Part is the meetings that may be of one lock or channel, and the ends of waits for it from
// before the window: indices of meetings in the order of their ends, and of actions.
type Part struct{ Meetings, Ends []int32 }

// Parts groups the meetings that may be of one lock or channel: at the same places in the code, and
// of goroutines that meet there. Goroutines that come and go count by where they are created. Parts
// of fewer than [LeastHandovers] meetings are left out. The order is that of first meetings, so
// that the same recording gives the same numbers.
func (t *Traces) Parts() []Part {
	// Places are connected where a wait at one was ended at the other. Of two functions that lock
	// the same mutex each has a Lock that the other one's Unlock has ended.
	slots := model.NewUnion(len(t.slots))
	for _, m := range t.meetings {
		slots.Join(t.actions[m.wait].slot, t.actions[m.wake].slot)
	}
	for release, acquire := range t.pairs() {
		slots.Join(acquire, release)
	}
	// Goroutines are connected where one ended a wait of the other. Goroutines that were created in
	// the window at one place, a request's each, are one: each alone meets too few others.
	n := int32(len(t.kinds))
	kinds := model.NewUnion(int(n) + len(t.rec.Sites))
	who := func(g int32) int32 {
		if k := t.kinds[g]; k >= 0 {
			return n + k
		}
		return g
	}
	var all []Part
	for _, group := range model.Grouped(model.Numbers(len(t.meetings)), func(i int32) int32 { return slots.Find(t.actions[t.meetings[i].wait].slot) }) {
		kinds.Reset()
		for _, i := range group {
			kinds.Join(who(t.meetings[i].Waiter.List), who(t.meetings[i].Waker.List))
		}
		// Ends of waits from before the window connect goroutines, too, see
		// TestReleasesToThoseWhoWaitedBefore.
		slot := slots.Find(t.actions[t.meetings[group[0]].wait].slot)
		var ends []ending
		for _, x := range t.ends {
			if a := &t.actions[x.action]; slots.Find(a.slot) == slot {
				kinds.Join(who(a.g), who(x.waiter))
				ends = append(ends, x)
			}
		}
		for _, of := range model.Grouped(group, func(i int32) int32 { return kinds.Find(who(t.meetings[i].Waiter.List)) }) {
			if len(of) < LeastHandovers {
				continue
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
	pair       int32    // number of both, see pair
	from, to   int32    // events of the landmarks; -1, and how many events there are, without one
	ran, until int64    // for how long the goroutine had run at either, ns
	actions    []int32  // in order
}

// An explanation is one lock or channel, or several locks, and the operations on it.
type explanation struct {
	t          *Traces
	lock       bool
	capacity   int32      // of a channel, see counts; model.Unlimited if it was never full
	meetings   []int32    // of the part
	seen       []int32    // actions, ascending
	since      []int32    // events: what marked the end of a wait from before the window, see waiters.go
	told       []unseen   // operations that the recording does not show
	number     []int32    // of each candidate among those, -1 for none
	order      []Incident // all that may be, see possible
	now        []Incident // scratch of incidents
	lockings   int        // places in the code where it is locked
	trace.Pool            // of a channel
	deal       *Deal      // of several locks, else nil
}

// unseen is an operation that neither waited nor let another goroutine go on.
type unseen struct {
	g      int32
	what   mark.Op
	before int32   // the event that it comes before
	rank   float64 // among those of its gap, from 0
	at     int64   // time, ns, from that of the event before to that of the one behind
	slot   int32   // at which it is done elsewhere
	gap    int32
}

// mostTried bounds the combinations of assumptions: all of four habits, 3 to the power of 4. Two
// are a lock that is taken and given back at one place each, four an RWMutex with readers and
// writers. Of more habits the last ones stay with the first assumption. Each combination goes
// through all operations once, so that is what a larger bound would cost.
const mostTried = 81

// explain infers the operations of a part by the combination of assumptions that agrees best with
// the waits, nil if none does. Then the part keeps its recorded waits.
func (t *Traces) explain(p Part) *explanation {
	x := &explanation{t: t, meetings: p.Meetings}
	var of []bool
	x.seen, of = t.actionsOf(p)
	x.lock = isLock(t.slots[t.actions[x.seen[0]].slot].what)
	// A lock that is hardly waited for decides nothing, and would only be a hypothesis more.
	if x.lock && t.waiting(p.Meetings) <= Incidental {
		return nil
	}
	gaps := t.gaps(x.seen, of)
	habits := t.habits(gaps)
	x.Unordered = !x.lock && !t.queues(p.Meetings)
	may := t.candidates(gaps, habits)
	x.order = x.possible(may)
	// First as one object. Channels are served in order of arrival. Where waits end in another
	// order it may be a pool, such as that of database/sql, which draws the next one by lot.
	if x.assume(may, habits, x.contradicted) {
		// They may be of several channels, of one request each.
		if closes := t.closes(p.Meetings); closes && !x.lent() || !closes && (x.Unordered || t.selects(p.Meetings)) && !x.places() {
			return nil
		}
		return x
	}
	if x.Unordered {
		return nil
	}
	// Then as several: mutexes alone. Readers hold an RWMutex together, so that two holds at a time
	// would not show that there are two locks.
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
// reports whether that is little: 5 % at most. Combinations begin with the most cautious one, and a
// later one must be better. contradicted is called once more for the one that is taken, as it
// leaves the capacity or the deal behind.
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

// actionsOf returns the operations of a part that are seen, in order, and by action whether it is
// one of them. Several meetings may have one action: a broadcast, or a lock that was tried again.
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

// nextChoice goes on to the next combination, like a number in base 3 whose first digit is the
// lowest; false behind the last one. A habit that repeats has no choice: it is never assumed.
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

// waiting returns which part of the window is waited for a lock: the sum over goroutines, so that
// it is above 1 where several wait all the time. Where that is little, it does not matter which
// goroutine holds it.
func (t *Traces) waiting(part []int32) float64 {
	var total int64
	for _, i := range part {
		total += t.meetings[i].At - t.meetings[i].From
	}
	return float64(total) / float64(max(1, t.rec.End-t.rec.Start))
}

// selects reports whether a goroutine waits there in a select statement. The trace does not show on
// which of its channels, so that such waits are of one object only if something else shows it.
func (t *Traces) selects(part []int32) bool {
	return slices.ContainsFunc(part, func(i int32) bool { return t.rec.Events[t.actions[t.meetings[i].wait].from].Arg == trace.WaitSelect })
}

// closes reports whether any of the waits is ended by a close.
func (t *Traces) closes(part []int32) bool {
	return slices.ContainsFunc(part, func(i int32) bool { return t.closers[t.rec.Events[t.actions[t.meetings[i].wake].from].Site] })
}

// queues reports whether the goroutine that waits longest is served first, as at one channel
// (FIFO: sudogs are queued and dequeued in order, waitq in runtime/chan.go). Waits for several
// channels at one place are out of turn.
func (t *Traces) queues(part []int32) bool {
	all := make([]model.Handover, len(part))
	order := make([]int32, len(part))
	for k, i := range part {
		all[k], order[k] = t.meetings[i].Handover, int32(k)
	}
	fair, judged := InTurn(all, order)
	return float64(fair) >= Fairness*float64(judged)
}

// gaps returns the gaps of all goroutines that may do what is seen: the ones that do, and the ones
// created where they are. They are by goroutine and in order of time. A goroutine that was there
// before the window, and neither waited nor ended a wait in it, has none: where it was created is
// not recorded, so nothing shows that it uses the object.
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
	// Cut the steps of each at its landmarks. What is behind the last landmark is a gap only if
	// something is seen in it: it has no pair of landmarks that an assumption could be about.
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
	habit int               // index
	by    [assumptions]bool // whether it is done by each
}

// candidates returns the operations that may be done unseen, by any assumption: by gap, and in each
// in the order in which the operations usually are done. A gap in which a habit is seen has none of
// it.
func (t *Traces) candidates(gaps []gap, habits []habit) []candidate {
	// The order within a gap: by the median fraction at which each is seen. Of two at the same
	// fraction the letter decides: Lock before Unlock, Send behind Receive.
	order := model.Numbers(len(habits))
	slices.SortStableFunc(order, func(a, b int32) int {
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
			// Seen operations of the gap are fixed points: what usually comes before one is placed
			// before it, also if the gap is longer or shorter than others.
			//
			//	usual     Lock ........ Unlock .......     at .2 and .6
			//	here      ..................... Unlock     Lock anywhere before it
			from, to, low, high := g.from, g.to, g.ran, g.until
			for _, a := range g.actions {
				y := &t.actions[a]
				other := slices.IndexFunc(order, func(k int32) bool { return slices.Contains(habits[k].slots, y.slot) })
				if other < rank {
					from, low = max(from, y.from, y.to), max(low, y.ran)
				} else if y.from < to {
					to, high = y.from, min(high, y.ran)
				}
			}
			at := min(max(g.ran+int64(h.where()*float64(g.until-g.ran)), low), high)
			u := t.unseen(g.g, h.what, from, to, at, float64(rank))
			u.slot, u.gap = h.slots[0], int32(i)
			all = append(all, candidate{u, int(k), by})
		}
	}
	return all
}

// tell takes the candidates that are done by a choice of assumptions, by habit, into told, and
// numbers them. The slices are used again by the next call.
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

// unseen is an operation of a goroutine when it has run for so long, ns, between two events. It is
// placed in a stretch in which the goroutine ran: one that waits, or is ready, does nothing. At the
// border of two stretches, such as around a timer's wait, from and to decide which one it is, see
// TestUnseenBehindTimer. Where the goroutine did not run at all it stands at the event behind.
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
	// The event that it comes before is the first one behind its time, within the stretch and the
	// bounds. Where these leave no room the time gives way to the order.
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
// each operation is on, from 0, nil for one: by index, the seen ones first. Marks stand where those
// of package mark would: what lets another goroutine go on before its event, what a goroutine gets
// behind it. A wait has a mark where it begins and one where it ends.
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
			if a.to >= 0 { // else it still waits when the window ends
				add(a.to+1, -1, events[a.to].At, a.g, what)
			}
		case what == mark.Receive:
			add(a.from+1, -1, events[a.from].At, a.g, what)
		default:
			add(a.from, 1, events[a.from].At, a.g, what)
		}
	}
	for _, k := range x.since {
		on(0)
		add(k, 0, events[k].At, events[k].G, mark.Receive)
	}
	for k, u := range x.told {
		on(len(x.seen) + k)
		add(u.before, u.rank/1000, u.at, u.g, u.what)
	}
	return all
}

// Incidental is which part of the window a lock must be held or waited for, to matter: if a lock
// that is waited for in less than 1 % of the window were free at once, the answer would change by
// a point at most. Larger, and bottlenecks to come are lost; smaller, and orders of goroutines that
// are accidents of the recording are kept, which contradict what others decide anew. TestSetAside
// holds that such locks are left out of lists.
const Incidental = 0.01
