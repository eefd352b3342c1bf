package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A trace of stock Go has the waits for condition variables, and the signals that ended one. What
// can be inferred besides are the signals that ended none, and the times at which goroutines looked
// at the condition and went on: at the same places in the code. Each time they have the lock, of
// which the trace may show nothing.

// A watch is condition variables with one lock, and the operations on them.
type watch struct {
	x          *explanation // its operations: of an inferred wait, the goroutine only looked
	gaps       []gap
	conditions int32
	of         map[int32]int32 // condition variable by slot
}

// ofCondition reports whether an operation is one on a condition variable.
func ofCondition(what mark.Op) bool {
	return what == mark.Await || what == mark.Signal || what == mark.Broadcast
}

// what returns the what of the operation that ended the waits of a part.
func (t *Traces) operation(p Part) mark.Op {
	return t.slots[t.actions[t.meetings[p.Meetings[0]].wake].slot].what
}

// watches finds the condition variables: variables that goroutines use between the same landmarks
// have one lock.
func (t *Traces) watches(parts []Part) []*watch {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return !ofCondition(t.operation(p)) || !t.roused(p.Meetings) })
	together := model.NewUnion(len(parts))
	first := map[int32]int32{}
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
	var all []*watch
	for _, group := range model.Grouped(len(parts), together.Find) {
		w := &watch{x: &explanation{t: t}, conditions: int32(len(group)), of: map[int32]int32{}}
		of := make([]bool, len(t.actions))
		var seen []int32
		for k, i := range group {
			mine, _ := t.actionsOf(parts[i])
			seen = append(seen, mine...)
			for _, a := range mine {
				of[a] = true
				w.of[t.actions[a].slot] = int32(k)
			}
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
// that has waited longest, a broadcast for all.
func (t *Traces) roused(meetings []int32) bool {
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
			if len(waiting) > 1 {
				all++
				if waiting[0] == meetings[k] {
					right++
				}
			}
			waiting = slices.DeleteFunc(waiting, func(i int32) bool { return i == meetings[k] })
			k++
			continue
		}
		for ; k < len(meetings) && t.meetings[meetings[k]].wake == m.wake; k++ {
			right, all = right+1, all+1
			waiting = slices.DeleteFunc(waiting, func(i int32) bool { return i == meetings[k] })
		}
		all += len(waiting)
	}
	return float64(right) >= model.Agreeing*float64(all)
}

// marks adds those of all operations, from an object on: the lock's, and the condition variables'.
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

// A deed is one operation while a goroutine has the lock: seen or inferred.
type deed struct {
	action *action
	told   *unseen
	what   mark.Op
	object int32
}

// before is the event before which it is done.
func (t *deed) before() int32 {
	if t.told != nil {
		return t.told.before
	}
	return t.action.from
}

// lockedBy is what a goroutine does between two landmarks, with a lock.
type lockedBy struct {
	of      []trace.Event
	g, lock int32
	actions []deed
}

// marks adds the operations on the lock, too.
func (s *lockedBy) marks(all []inserted) []inserted {
	slices.SortStableFunc(s.actions, func(a, b deed) int { return cmp.Compare(a.before(), b.before()) })
	add := func(before int32, rank float64, at int64, what mark.Op, object int32) {
		all = append(all, inserted{before, rank, trace.Event{Kind: trace.EvOperate, At: at, G: s.g, By: trace.NoWaker, What: what, Ref: object}})
	}
	for k := range s.actions {
		x := &s.actions[k]
		first, last := k == 0, k == len(s.actions)-1
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
