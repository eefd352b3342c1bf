package replay

import (
	"cmp"
	"slices"
	"strings"
)

// A trace of stock Go has only the waits that happened, and which goroutine ended each. Where these show that goroutines
// share one lock or channel, it is put in their place as an object: who waits there is served in order, whoever it was in the
// recording, and an element cannot be received before it is sent.

// A handover is a wait that another goroutine ended.
type handover struct {
	waiter, waker place
	from, at      int64
	taken         bool // the waiter was sending, and the waker received
}

// fairness is which part of the handovers must go to the one that waits longest, for them to be of one object.
var fairness = 0.95

// leastHandovers is what it takes to tell.
const leastHandovers = 20

// infer replaces tokens by objects.
func (p *program) infer() {
	all := p.handovers()
	sites := newUnion(2 * len(p.rec.sites))
	goroutines := newUnion(len(p.lists))
	// Waits of one place, ended at one place, may be of one object, if the same goroutines meet there.
	for i := range all {
		h := &all[i]
		sites.join(p.siteOf(h.waiter), int32(len(p.rec.sites))+p.siteOf(h.waker))
	}
	groups := map[int32][]int32{} // handovers by site
	for i := range all {
		s := sites.find(p.siteOf(all[i].waiter))
		groups[s] = append(groups[s], int32(i))
	}
	order := make([]int32, 0, len(groups))
	for s := range groups {
		order = append(order, s)
	}
	slices.Sort(order)
	for _, s := range order {
		goroutines.reset()
		for _, i := range groups[s] {
			goroutines.join(all[i].waiter.list, all[i].waker.list)
		}
		parts := map[int32][]int32{}
		var keys []int32
		for _, i := range groups[s] {
			g := goroutines.find(all[i].waiter.list)
			if parts[g] == nil {
				keys = append(keys, g)
			}
			parts[g] = append(parts[g], i)
		}
		for _, g := range keys {
			p.share(all, parts[g])
		}
	}
}

func (p *program) siteOf(at place) int32 { return p.lists[at.list].ops[at.op].site }

// handovers returns the waits for locks and channels, in the order in which they ended.
func (p *program) handovers() []handover {
	all := make([]handover, p.tokens)
	for i := range all {
		all[i].waiter.list, all[i].waker.list = -1, -1
	}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			switch o.kind {
			case opWait:
				h := &all[o.arg]
				h.waiter = place{int32(l), int32(k)}
				h.from, h.at = o.at-o.d, o.at
				h.taken = o.reason == waitSend
				if o.reason != waitMutex && o.reason != waitSend && o.reason != waitReceive && o.reason != waitSelect {
					h.waiter.list = -1
				}
			case opWake:
				all[o.arg].waker = place{int32(l), int32(k)}
			}
		}
	}
	all = slices.DeleteFunc(all, func(h handover) bool { return h.waiter.list < 0 || h.waker.list < 0 })
	for i := range all {
		h := &all[i]
		if p.lists[h.waiter.list].ops[h.waiter.op].reason == waitSelect {
			switch p.direction(p.siteOf(h.waker)) {
			case opReceive:
				h.taken = true
			case opSend:
			default:
				h.waiter.list = -1
			}
		}
	}
	all = slices.DeleteFunc(all, func(h handover) bool { return h.waiter.list < 0 })
	slices.SortStableFunc(all, func(a, b handover) int { return cmp.Compare(a.at, b.at) })
	return all
}

// direction tells what a waker did with a channel: send or receive; opWake if that is neither or not known.
func (p *program) direction(site int32) opKind {
	for i, f := range p.rec.sites[site].Frames {
		switch {
		case i > 2:
			return opWake
		case strings.HasPrefix(f.Func, "runtime.chansend"), f.Func == "runtime.selectnbsend":
			return opSend
		case strings.HasPrefix(f.Func, "runtime.chanrecv"), f.Func == "runtime.selectnbrecv":
			return opReceive
		case f.Func == "runtime.closechan":
			return opWake
		}
	}
	return opWake
}

// share makes one object of handovers, if they are as those of one.
func (p *program) share(all []handover, part []int32) {
	if len(part) < leastHandovers {
		return
	}
	fair, judged := 0, 0
	var waiting []int32
	// part is in the order of the ends of the waits; a goroutine that waits longer and is passed over contradicts.
	begins := slices.Clone(part)
	slices.SortFunc(begins, func(a, b int32) int { return cmp.Compare(all[a].from, all[b].from) })
	next := 0
	for _, i := range part {
		h := &all[i]
		for next < len(begins) && all[begins[next]].from < h.at {
			waiting = append(waiting, begins[next])
			next++
		}
		same := 0
		firstOf := int32(-1)
		for _, w := range waiting {
			if all[w].taken == h.taken {
				if same == 0 {
					firstOf = w
				}
				same++
			}
		}
		if same > 1 {
			judged++
			if firstOf == i {
				fair++
			}
		}
		if k := slices.Index(waiting, i); k >= 0 {
			waiting = slices.Delete(waiting, k, k+1)
		}
	}
	if float64(fair) < fairness*float64(judged) {
		return
	}
	object := int32(len(p.objects))
	info := objectInfo{kind: objectChan, capacity: unlimited, inferred: true, site: p.siteOf(all[part[0]].waiter)}
	for _, i := range part {
		h := &all[i]
		wait, wake := &p.lists[h.waiter.list].ops[h.waiter.op], &p.lists[h.waker.list].ops[h.waker.op]
		wait.kind, wake.kind = opReceive, opSend
		if h.taken {
			wait.kind, wake.kind = opSend, opReceive
			info.capacity = 1
		}
		wait.arg, wake.arg, wait.d, wake.d = object, object, 0, 0
	}
	if all[part[0]].taken {
		info.count = 1
	}
	p.objects = append(p.objects, info)
}

// unlimited is the capacity of a channel that nothing was seen to fill.
const unlimited = 1 << 30

// A union keeps disjoint sets.
type union struct{ parent []int32 }

func newUnion(n int) *union {
	u := &union{make([]int32, n)}
	u.reset()
	return u
}

func (u *union) reset() {
	for i := range u.parent {
		u.parent[i] = int32(i)
	}
}

func (u *union) find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

func (u *union) join(a, b int32) { u.parent[u.find(a)] = u.find(b) }
