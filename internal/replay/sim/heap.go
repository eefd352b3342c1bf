package sim

// The event list of the simulation (future event list) is a priority queue. It needs a total order:
// happenings of one time happen in the order in which they were planned, as goroutines that become
// ready one behind the other run in that order. A heap alone is not stable, so the order is part of
// the key, and a simulation comes to the same end each time.

// A happening is what is to happen at a time, ns. What holds, from the highest bit, its number in
// the order of planning, its kind, and what it happens to: 32, 2 and 30 bits. So one comparison
// decides between happenings of one time. Numbers do not come round again: simulation.limit bounds
// the work, and with it them, for recordings below some 100 million ops.
type happening struct {
	at   int64
	what uint64
}

// newHappening has kind below 4, and id from 0 to below 1<<30: a processor, a runner (see
// maxRunners) or a delivery.
func newHappening(at int64, n uint32, kind uint8, id int32) happening {
	return happening{at, uint64(n)<<32 | uint64(kind)<<30 | uint64(id)}
}

func (h happening) kind() uint8 { return uint8(h.what >> 30 & 3) }

func (h happening) id() int32 { return int32(h.what & (1<<30 - 1)) }

func (h happening) before(o happening) bool {
	return h.at < o.at || h.at == o.at && h.what < o.what
}

// A heap holds what is to happen, what is next first. It is a tree of which each node has four
// below it (4-ary heap), half as deep as one with two. The four are 64 bytes, in two cache lines at
// most, and cost fewer misses than one level more. The runtime's heap of timers has four for the
// same reason: timerHeapN in runtime/time.go. The parent of node i is (i-1)/4, its first child is
// 4i+1. Push and pop take logarithmic time and, once it has grown, no memory.
type heap []happening

func (h *heap) push(x happening) {
	all := append(*h, x)
	*h = all
	// Parents that come later move down into the gap: one store for each level, where swapping
	// takes two.
	i := len(all) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !x.before(all[up]) {
			break
		}
		all[i] = all[up]
		i = up
	}
	all[i] = x
}

// pop takes the next happening out. The heap must not be empty.
func (h *heap) pop() happening {
	all := *h
	next, x := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	if len(all) == 0 {
		return next
	}
	// The gap at the top moves down along the earliest children, until the last happening fits in.
	i := 0
	for {
		first := 4*i + 1
		if first >= len(all) {
			break
		}
		least := first
		for k := first + 1; k < min(first+4, len(all)); k++ {
			if all[k].before(all[least]) {
				least = k
			}
		}
		if !all[least].before(x) {
			break
		}
		all[i] = all[least]
		i = least
	}
	all[i] = x
	return next
}
