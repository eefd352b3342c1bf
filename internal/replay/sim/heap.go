package sim

// A happening is what is to happen at a time. What has its number, so that those of one time happen
// in the order in which they were planned, then its kind and what it happens to: 32, 2 and 30 bits.
type happening struct {
	at   int64
	what uint64
}

func newHappening(at int64, n uint32, kind uint8, id int32) happening {
	return happening{at, uint64(n)<<32 | uint64(kind)<<30 | uint64(id)}
}

func (h happening) kind() uint8 { return uint8(h.what >> 30 & 3) }

func (h happening) id() int32 { return int32(h.what & (1<<30 - 1)) }

func (h happening) before(o happening) bool {
	return h.at < o.at || h.at == o.at && h.what < o.what
}

// A heap holds what is to happen, what is next first. It is a tree of which each node has four
// below it: half as deep as one with two, and the four are in one cache line.
type heap []happening

func (h *heap) push(x happening) {
	all := append(*h, x)
	*h = all
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

func (h *heap) pop() happening {
	all := *h
	next, x := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	if len(all) == 0 {
		return next
	}
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
