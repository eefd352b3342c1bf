package hidden

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// The hypotheses about operations that a stock trace does not show (uncontended acquisitions,
// buffered sends). The same code between the same landmarks does the same; what is not known is
// which of the two landmarks matters. A helper function that locks is called behind several spans,
// and code behind one span goes on to several.
//
//	seen      close(prepare)  Lock  open(write)
//	assumed   close(prepare)  Lock  open(write)    betweenBoth, also by the two others
//	          close(retry)    Lock  open(write)    beforeNext
//	          close(prepare)  Lock  open(skip)     afterLast
//
// Each operation has one assumption for all of the recording: assume in explain.go tries the
// combinations and takes the least contradicted one. The hypotheses are wrong where state decides
// within a gap, such as a cache that is mostly hit, or TryLock. Then a lock is held in the
// hypothesis while others pass it; check.go counts that, and above 5 % the whole part is dropped.

// An assumption is where an operation is done, too, when the recording does not show it.
type assumption uint8

// The assumptions, the most cautious one first. Where two are contradicted alike the first counts,
// so that as few operations as possible are made up.
const (
	betweenBoth assumption = iota // between the same two landmarks
	beforeNext                    // before the same landmark, whatever came before
	afterLast                     // behind the same landmark, whatever comes next
	assumptions                   // how many there are
)

// A habit is what is known of one operation: the gaps in which it is seen, and at which fraction of
// them. Slots at which the same is done, of which a gap has one or the other, are one habit.
type habit struct {
	what    mark.Op
	slots   []int32   // places in the code, see alike
	both    []bool    // by pair of landmarks: it is seen between them
	last    []bool    // by landmark: it is seen behind it
	next    []bool    // by landmark: it is seen before it
	at      []float64 // fractions of gaps, 0 to 1, in order; of gaps with two landmarks only
	several int       // gaps in which it is seen several times
	repeats bool      // that is often: then it is seen each time, or nothing is known
}

// habits returns what is known of each operation of a part, which the gaps are of.
//
// A loop between two landmarks repeats an operation, and the trace does not show how many rounds
// went without a wait. Where more than 5 % of the gaps have it several times none is assumed
// anywhere: an operation too few leaves a lock free a little too often, a wrong number of rounds
// would contradict all else.
func (t *Traces) habits(gaps []gap) []habit {
	var all []habit
	for _, slots := range t.alike(gaps) {
		h := habit{what: t.slots[slots[0]].what, slots: slots, both: make([]bool, len(t.couples)), last: make([]bool, len(t.landmarks)+1), next: make([]bool, len(t.landmarks)+1)}
		for i := range gaps {
			h.learn(t, &gaps[i])
		}
		slices.Sort(h.at)
		h.repeats = float64(h.several) > (1-Fairness)*float64(len(h.at))
		all = append(all, h)
	}
	return all
}

// learn adds what one gap shows. The fraction is one of the time for which the goroutine ran, not
// of time by the clock: a wait in the gap would move all that comes behind it, each time by as long
// as it lasted.
func (h *habit) learn(t *Traces, g *gap) {
	n := 0
	for _, a := range g.actions {
		x := &t.actions[a]
		if !slices.Contains(h.slots, x.slot) {
			continue
		}
		n++
		// At the window's borders one landmark is missing; the other one still counts.
		if g.last != 0 {
			h.last[g.last] = true
		}
		if g.next != 0 {
			h.next[g.next] = true
		}
		if g.last != 0 && g.next != 0 {
			h.both[g.pair] = true
			f := 0.0
			if d := g.until - g.ran; d > 0 {
				f = float64(x.ran-g.ran) / float64(d)
			}
			h.at = append(h.at, f)
		}
	}
	if n > 1 {
		h.several++
	}
}

// pair returns the number of two landmarks, one behind the other; the same for all parts. Numbers
// are dense, so that a habit can have a slice by them in place of a map.
func (t *Traces) pair(last, next landmark) int32 {
	key := uint64(uint32(last))<<32 | uint64(uint32(next))
	n, ok := t.couples[key]
	if !ok {
		n = int32(len(t.couples))
		t.couples[key] = n
	}
	return n
}

// alike returns the slots of the actions in gaps, in the order in which they are first seen, and
// together the ones that do the same between the same landmarks and never in one gap. They are the
// branches of one piece of code:
//
//	mu.Lock()
//	if found {
//		mu.Unlock() // a gap has this one
//		return
//	}
//	mu.Unlock() // or this one
//
// As two habits both would be assumed in a gap where neither is seen, and the lock be given back
// twice. It takes the square of the number of slots, of which a part has few.
func (t *Traces) alike(gaps []gap) [][]int32 {
	var slots []int32
	between := map[int32]map[int32]bool{} // by slot: pairs of landmarks
	apart := map[[2]int32]bool{}          // slots that one gap has both of
	lastIn := make([]int, len(t.slots))   // by slot: the gap that has it, from 1
	var here []int32                      // the slots of a gap, which may have one thousands of times
	for i := range gaps {
		g := &gaps[i]
		here = here[:0]
		for _, a := range g.actions {
			x := t.actions[a].slot
			if lastIn[x] == i+1 {
				continue
			}
			lastIn[x] = i + 1
			if between[x] == nil {
				between[x] = map[int32]bool{}
				slots = append(slots, x)
			}
			between[x][g.pair] = true
			for _, y := range here {
				apart[[2]int32{x, y}], apart[[2]int32{y, x}] = true, true
			}
			here = append(here, x)
		}
	}
	// Each slot joins the first set with all of which it may be one, and with some of which it
	// shares a pair of landmarks: without that, nothing shows that they are branches.
	var all [][]int32
	for _, x := range slots {
		k := slices.IndexFunc(all, func(others []int32) bool {
			shared := false
			for _, y := range others {
				if apart[[2]int32{x, y}] || t.slots[x].what != t.slots[y].what {
					return false
				}
				for at := range between[x] {
					shared = shared || between[y][at]
				}
			}
			return shared
		})
		if k < 0 {
			all = append(all, []int32{x})
		} else {
			all[k] = append(all[k], x)
		}
	}
	return all
}

// where is the median fraction of a gap at which an operation is done, from 0 to 1; 0 where it is
// only seen at the window's borders. A median, since one preemption in a gap moves a mean.
func (h *habit) where() float64 {
	if len(h.at) == 0 {
		return 0
	}
	return h.at[len(h.at)/2]
}

// assumed reports whether an operation is done in a gap by each assumption, whether it is seen
// there or not. Number 0 is no landmark, which no habit has.
func (h *habit) assumed(g *gap) (by [assumptions]bool) {
	if !h.repeats {
		by = [assumptions]bool{betweenBoth: h.both[g.pair], beforeNext: h.next[g.next], afterLast: h.last[g.last]}
	}
	return by
}
