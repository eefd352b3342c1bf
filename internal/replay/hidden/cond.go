package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Condition variables (monitors with Mesa semantics, Lampson and Redell 1980). A trace of stock Go
// has the waits for condition variables, and the signals that ended one: Signal and Broadcast
// return before they wake anything where no goroutine waits (notifyListNotifyOne and
// notifyListNotifyAll in runtime/sema.go), so a signal without a waiter leaves no event. What can
// be inferred besides are the signals that ended none, and the times at which goroutines looked at
// the condition and went on: at the same places in the code. Each time they have the lock, of which
// the trace may show nothing.
//
//	recorded    wait begins ............... runs             wakes another one
//	inserted    Lock Unlock Await begins    Await Lock ...   Signal Unlock
//
// What the condition is, a count or a barrier for instance, is not found here: package cond fits a
// rule to the completed sections. TestUnseenConditions holds that sections and waits come out
// within 10 %, TestUnseenConditionsLimit that the queue there gets its limit.
//
// Two simplifications make the replay of a program too strict or too loose, which its check against
// the recording must find. A goroutine has the lock from its first operation between two landmarks
// to its last one there, but for waits: a loop without spans that computes between two operations
// has the lock meanwhile. And variables that are used between the same landmarks count as having
// one lock, which two queues need not have.

// A watch is condition variables with one lock, and the operations on them.
type watch struct {
	x          *explanation    // its operations: of an inferred wait, the goroutine only looked
	gaps       []gap           // of all goroutines that use them
	conditions int32           // how many variables there are
	of         map[int32]int32 // condition variable by slot, from 0
}

// ofCondition reports whether an operation is one on a condition variable.
func ofCondition(what mark.Op) bool {
	return what == mark.Await || what == mark.Signal || what == mark.Broadcast
}

// operation returns which operation ended the waits of a part; that of the first meeting stands for
// all, as a part is of one object. A part has one meeting at least.
func (t *Traces) operation(p Part) mark.Op {
	return t.slots[t.actions[t.meetings[p.Meetings[0]].wake].slot].what
}

// watches finds the condition variables: variables that goroutines use between the same landmarks
// have one lock. A bounded queue has two, notFull and notEmpty: a producer waits for the first and
// signals the second in one section. Parts of locks and channels are passed over. There is no test
// of the hypothesis as for those: the operations of a watch are assumed between the same two
// landmarks only, and package cond drops what fits no rule.
func (t *Traces) watches(parts []Part) []*watch {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return !ofCondition(t.operation(p)) || !t.roused(p.Meetings) })
	// Join the parts that have actions between one pair of landmarks.
	together := model.NewUnion(len(parts))
	first := map[int32]int32{} // part, by pair of landmarks
	for i, p := range parts {
		for _, g := range t.gaps(t.actionsOf(p)) {
			if len(g.actions) == 0 {
				continue
			}
			at := g.pair
			if _, ok := first[at]; !ok {
				first[at] = int32(i)
			}
			together.Join(int32(i), first[at])
		}
	}
	// Infer the unseen operations of each group as those of one object, since they share gaps.
	var all []*watch
	for _, group := range model.Grouped(model.Numbers(len(parts)), together.Find) {
		w := &watch{x: &explanation{t: t}, conditions: int32(len(group)), of: map[int32]int32{}}
		of := make([]bool, len(t.actions))
		var seen []int32
		several := false // variables of one place, such as notEmpty of two queues
		for k, i := range group {
			mine, _ := t.actionsOf(parts[i])
			seen = append(seen, mine...)
			for _, a := range mine {
				of[a] = true
				slot := t.actions[a].slot
				if other, known := w.of[slot]; known && other != int32(k) {
					several = true
				}
				w.of[slot] = int32(k)
			}
		}
		if several { // which of them goroutines use between the landmarks is not known
			continue
		}
		w.gaps = t.gaps(seen, of)
		habits := t.habits(w.gaps)
		for k := range habits { // a goroutine that has waited in vain waits again
			habits[k].repeats = habits[k].repeats && habits[k].what != mark.Await
		}
		w.x.tell(t.candidates(w.gaps, habits), make([]assumption, len(habits)))
		all = append(all, w)
	}
	return all
}

// roused reports whether goroutines go on as with one condition variable: a signal is for the one
// that has waited longest, a broadcast for all (the tickets of notifyList in runtime/sema.go).
// Waits at one place that are for several variables, one of each connection for instance, are out
// of turn and have no watch. The meetings must be in the order of their ends, those of one
// broadcast one behind the other. It takes the number of meetings by that of goroutines that wait
// at once.
func (t *Traces) roused(meetings []int32) bool {
	// Go through the ends of waits, and keep who waits then, in the order in which they came.
	begins := slices.Clone(meetings)
	slices.SortStableFunc(begins, func(a, b int32) int { return cmp.Compare(t.meetings[a].From, t.meetings[b].From) })
	var waiting []int32
	right, all := 0, 0
	for k := 0; k < len(meetings); {
		m := &t.meetings[meetings[k]]
		for len(begins) > 0 && t.meetings[begins[0]].From < m.At {
			waiting = append(waiting, begins[0])
			begins = begins[1:]
		}
		if t.slots[t.actions[m.wake].slot].what == mark.Signal {
			if len(waiting) > 1 { // one that waits alone is the first in any order
				all++
				if waiting[0] == meetings[k] {
					right++
				}
			}
			waiting = slices.DeleteFunc(waiting, func(i int32) bool { return i == meetings[k] })
			k++
			continue
		}
		// A broadcast: each that it woke is right, each that it left waiting is wrong.
		for ; k < len(meetings) && t.meetings[meetings[k]].wake == m.wake; k++ {
			right, all = right+1, all+1
			waiting = slices.DeleteFunc(waiting, func(i int32) bool { return i == meetings[k] })
		}
		all += len(waiting)
	}
	return float64(right) >= model.Agreeing*float64(all)
}

// marks adds those of all operations, from an object on: the lock's, and the condition variables',
// object + 1 and up. The unseen operations are in the order of the gaps, as candidates made them.
func (w *watch) marks(all []inserted, object int32) []inserted {
	t := w.x.t
	for i, told := 0, 0; i < len(w.gaps); i++ {
		g := &w.gaps[i]
		s := lockedBy{of: t.rec.Events, g: g.g, lock: object}
		for _, a := range g.actions {
			s.actions = append(s.actions, deed{action: &t.actions[a], what: t.slots[t.actions[a].slot].what, object: object + 1 + w.of[t.actions[a].slot]})
		}
		for ; told < len(w.x.told) && w.x.told[told].gap == int32(i); told++ {
			u := &w.x.told[told]
			s.actions = append(s.actions, deed{told: u, what: u.what, object: object + 1 + w.of[u.slot]})
		}
		all = s.marks(all)
	}
	return all
}

// A deed is one operation while a goroutine has the lock: seen, with an action, or inferred, with
// an unseen.
type deed struct {
	action *action
	told   *unseen
	what   mark.Op
	object int32 // condition variable, in the completed recording
}

// before is the event before which it is done, or at which its wait begins.
func (t *deed) before() int32 {
	if t.told != nil {
		return t.told.before
	}
	return t.action.from
}

// lockedBy is what a goroutine does between two landmarks, with a lock: one critical section, which
// waits cut in pieces.
type lockedBy struct {
	of      []trace.Event // of the recording
	g, lock int32         // the goroutine, and the lock's object
	actions []deed
}

// marks adds the operations on the lock, too: Lock before the first deed, Unlock behind the last
// one, and both around each wait, since Wait of a [sync.Cond] gives the lock back and takes it
// again (sync/cond.go). Marks that belong to one event differ in rank, in the order in which they
// stand here. It brings the deeds in order.
func (s *lockedBy) marks(all []inserted) []inserted {
	slices.SortStableFunc(s.actions, func(a, b deed) int { return cmp.Compare(a.before(), b.before()) })
	add := func(before int32, rank float64, at int64, what mark.Op, object int32) {
		all = append(all, inserted{before, rank, trace.Event{Kind: trace.EvOperate, At: at, G: s.g, By: trace.NoWaker, What: what, Ref: object}})
	}
	for k := range s.actions {
		x := &s.actions[k]
		first, last := k == 0, k == len(s.actions)-1
		// An inferred wait is a look at the condition that was true: a section without an
		// operation.
		if u := x.told; u != nil {
			rank := u.rank / 1000
			if first {
				add(u.before, rank, u.at, mark.Lock, s.lock)
			}
			if x.what != mark.Await {
				add(u.before, rank+1e-6, u.at, x.what, x.object)
			}
			if last {
				add(u.before, rank+2e-6, u.at, mark.Unlock, s.lock)
			}
			continue
		}
		// A seen signal stands before the event by which it woke a goroutine.
		a := x.action
		at := s.of[a.from].At
		if first && !a.since {
			add(a.from, 1, at, mark.Lock, s.lock)
		}
		if !a.waited {
			add(a.from, 2, at, x.what, x.object)
			if last {
				add(a.from+1, -1, at, mark.Unlock, s.lock)
			}
			continue
		}
		// A wait gives the lock back before the goroutine parks. Without an end the window is over,
		// and so is the list of deeds.
		if !a.since {
			add(a.from, 3, at, mark.Unlock, s.lock)
			add(a.from, 4, at, mark.Await.Beginning(), x.object)
		}
		if a.to < 0 {
			return all
		}
		at = s.of[a.to].At
		add(a.to+1, -4, at, mark.Await, x.object)
		add(a.to+1, -3, at, mark.Lock, s.lock)
		if last {
			add(a.to+1, -2, at, mark.Unlock, s.lock)
		}
	}
	return all
}
