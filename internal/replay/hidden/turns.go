package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// First come, first served (FIFO) is what shows that waits are for one object. Go's channels serve
// goroutines in the order in which they came (waitq in runtime/chan.go), condition variables by
// ticket (notifyList in runtime/sema.go), semaphores from the head of a queue (semaRoot there).
// With two channels at one place in the code the first to wait is served only by chance:
//
//	wait begins   1   2   3        served: 1 2 3, in turn, 2 judged, as 3 waits alone in the end
//	                               served: 2 1 3, 1 of 2 in turn: 1 was passed over
//
// A Mutex is FIFO as to who is woken; a goroutine that was woken too late waits anew, at the front.
// The pool of database/sql draws by lot, see waiters.go.

// Fairness is which part of the handovers must go to the one that waits longest, for them to be of
// one object, and which part of anything else a rule must be right about: 19 of 20. The rest is for
// waits that begin at nearly the same time, whose events may be in another order than the queue.
// Nearer to 1 it would refuse true objects for such events, lower it would take for one object what
// is two that are used in turns.
var Fairness = 0.95

// LeastHandovers is how many handovers an inference takes: the least number of which Fairness lets
// one be out of turn.
const LeastHandovers = 20

// InTurn counts the handovers of a part, in the order of the ends of the waits, for which several
// have waited, and those of them in which the first to wait was served. Waits to send and waits to
// receive are two queues. Part has indices of all; it must be in the order of ends, At, and is left
// as it is. Of waits that began at once either may be the first. Handovers for which a goroutine
// waited alone show nothing, and are not judged: 0 of 0 is possible.
//
// It takes n log n for the part, and memory for all. TestInTurn holds it against a count that looks
// at each pair.
func InTurn(all []model.Handover, part []int32) (fair, judged int) {
	// part is in the order of the ends of the waits; a goroutine that waits longer and is passed
	// over contradicts.
	begins := slices.Clone(part)
	slices.SortFunc(begins, func(a, b int32) int { return cmp.Compare(all[a].From, all[b].From) })
	over := make([]bool, len(all))
	// By kind: who waits, in order, and how many. A wait that is over stays until it is the first.
	var waiting [2][]int32
	var waits [2]int
	next := 0
	for _, i := range part {
		h := &all[i]
		// The goroutines whose waits have begun by then queue up, in the order in which they came.
		for ; next < len(begins) && all[begins[next]].From < h.At; next++ {
			if w := begins[next]; !over[w] {
				kind := kind(&all[w])
				waiting[kind] = append(waiting[kind], w)
				waits[kind]++
			}
		}
		// Served ones leave the queue when they are its first, so that each is looked at once.
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
		// A wait that took no time was never in the queue.
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
