package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Fairness is which part of the handovers must go to the one that waits longest, for them to be of
// one object.
var Fairness = 0.95

// LeastHandovers is how many handovers an inference takes.
const LeastHandovers = 20

// InTurn counts the handovers, in the order of the ends of the waits, for which several have
// waited, and those of them in which the first to wait was served. It takes n log n.
func InTurn(all []model.Handover, part []int32) (fair, judged int) {
	// part is in the order of the ends of the waits; a goroutine that waits longer and is passed
	// over contradicts.
	begins := slices.Clone(part)
	slices.SortFunc(begins, func(a, b int32) int { return cmp.Compare(all[a].From, all[b].From) })
	over := make([]bool, len(all))
	var waiting [2][]int32 // by what is waited for, in order, with those whose waits are over until they are the first
	var waits [2]int
	next := 0
	for _, i := range part {
		h := &all[i]
		for ; next < len(begins) && all[begins[next]].From < h.At; next++ {
			if w := begins[next]; !over[w] {
				kind := kind(&all[w])
				waiting[kind] = append(waiting[kind], w)
				waits[kind]++
			}
		}
		kind := kind(h)
		for len(waiting[kind]) > 0 && over[waiting[kind][0]] {
			waiting[kind] = waiting[kind][1:]
		}
		if waits[kind] > 1 {
			judged++
			if waiting[kind][0] == i {
				fair++
			}
		}
		over[i] = true
		if h.From < h.At {
			waits[kind]--
		}
	}
	return fair, judged
}

// kind is 1 for a wait to send, else 0.
func kind(h *model.Handover) int {
	if h.Taken {
		return 1
	}
	return 0
}
