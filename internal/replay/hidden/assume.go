package hidden

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// An assumption is where an operation is done, too, when the recording does not show it.
type assumption uint8

// The assumptions, the most cautious one first.
const (
	betweenBoth assumption = iota // between the same two landmarks
	beforeNext                    // before the same landmark
	afterLast                     // behind the same landmark
	assumptions
)

// A habit is what is known of one operation: the gaps in which it is seen, and at which fraction of
// them. Slots at which the same is done, of which a gap has one or the other, are one habit.
type habit struct {
	what    mark.Op
	slots   []int32
	both    []bool // by pair
	last    []bool // by landmark
	next    []bool
	at      []float64
	several int  // gaps in which it is seen several times
	repeats bool // that is often: then it is seen each time, or nothing is known
}

// habits returns what is known of each operation.
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

func (h *habit) learn(t *Traces, g *gap) {
	n := 0
	for _, a := range g.actions {
		x := &t.actions[a]
		if !slices.Contains(h.slots, x.slot) {
			continue
		}
		n++
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

// pair returns the number of two landmarks, one behind the other.
func (t *Traces) pair(last, next landmark) int32 {
	key := uint64(uint32(last))<<32 | uint64(uint32(next))
	n, ok := t.couples[key]
	if !ok {
		n = int32(len(t.couples))
		t.couples[key] = n
	}
	return n
}

// alike returns the slots, those together that do the same between the same landmarks and never in
// one gap.
func (t *Traces) alike(gaps []gap) [][]int32 {
	var slots []int32
	between := map[int32]map[int32]bool{}
	apart := map[[2]int32]bool{}
	for i := range gaps {
		g := &gaps[i]
		for n, a := range g.actions {
			x := t.actions[a].slot
			if between[x] == nil {
				between[x] = map[int32]bool{}
				slots = append(slots, x)
			}
			between[x][g.pair] = true
			for _, b := range g.actions[:n] {
				y := t.actions[b].slot
				apart[[2]int32{x, y}], apart[[2]int32{y, x}] = true, true
			}
		}
	}
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

// where is the median fraction of a gap at which an operation is done.
func (h *habit) where() float64 {
	if len(h.at) == 0 {
		return 0
	}
	return h.at[len(h.at)/2]
}

// assumed reports whether an operation is done in a gap by each assumption.
func (h *habit) assumed(g *gap) (by [assumptions]bool) {
	if !h.repeats {
		by = [assumptions]bool{betweenBoth: h.both[g.pair], beforeNext: h.next[g.next], afterLast: h.last[g.last]}
	}
	return by
}
