package replay

import (
	"cmp"
	"slices"
	"strings"
)

// A trace of stock Go has only the waits that happened, and which goroutine ended each. Where these show that goroutines
// share one lock or channel, it is put in their place as an object: goroutines that wait there are served in order of arrival, which may differ from
// the recording's, and an element cannot be received before it is sent.

// A handover is a wait that another goroutine ended.
type handover struct {
	waiter, waker place
	from, at      int64
	taken         bool // the waiter was sending, and the waker received
}

// fairness is which part of the handovers must go to the one that waits longest, for them to be of one object.
var fairness = 0.95

// leastHandovers is how many handovers an inference takes.
const leastHandovers = 20

// infer replaces tokens by objects.
func (p *program) infer() {
	all := p.handovers()
	places := newUnion(len(p.rec.sites) + 1)
	of := p.usedAt()
	// Waits of one place, ended at one place, may be of one object, if the same goroutines meet there.
	for i := range all {
		places.join(of[p.siteOf(all[i].waiter)], of[p.siteOf(all[i].waker)])
	}
	goroutines := newUnion(len(p.lists))
	for _, group := range grouped(len(all), func(i int32) int32 { return places.find(of[p.siteOf(all[i].waiter)]) }) {
		goroutines.reset()
		for _, i := range group {
			goroutines.join(all[i].waiter.list, all[i].waker.list)
		}
		for _, part := range grouped(len(group), func(k int32) int32 { return goroutines.find(all[group[k]].waiter.list) }) {
			for k := range part {
				part[k] = group[part[k]]
			}
			if !p.detach(all, part) && p.shared(all, part) {
				p.share(all, part, false)
			}
		}
	}
	p.inferServers(all)
}

// detach leaves waits for locks as long as they were, where they are so few and short that the lock's holder is an accident
// of the recording: an order that is kept here could contradict one that is decided anew elsewhere.
func (p *program) detach(all []handover, part []int32) bool {
	var total int64
	for _, i := range part {
		o := p.op(all[i].waiter)
		if o.reason != waitMutex {
			return false
		}
		total += o.d
	}
	if float64(total) > incidental*float64(p.rec.End-p.rec.Start) {
		return false
	}
	p.inferred = true
	for _, i := range part {
		wait, wake := p.op(all[i].waiter), p.op(all[i].waker)
		wait.kind = opOut
		wait.set = 0 // nothing makes that shorter
		wake.kind, wake.d = opRun, 0
	}
	return true
}

// grouped returns the numbers below n by their key, groups in the order of their first members.
func grouped[K comparable](n int, key func(i int32) K) [][]int32 {
	at := map[K]int{}
	var groups [][]int32
	for i := range int32(n) {
		k := key(i)
		g, ok := at[k]
		if !ok {
			g = len(groups)
			at[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// usedAt numbers the places in the program that sites are about: the same for all ways there.
func (p *program) usedAt() []int32 { return numbered(p.rec.sites, Site.user) }

// inferServers finds goroutines that serve any others, have no spans of their own, and wait each for itself: readers
// and writers of connections, say. Together they are a pool of servers.
func (p *program) inferServers(all []handover) {
	spans := make([]bool, len(p.lists))
	waits := make([]map[int32]int, len(p.lists))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if p.lists[l].ops[k].kind == opOpen {
				spans[l] = true
			}
		}
	}
	var left []handover
	for _, h := range all {
		if o := p.op(h.waiter); o.kind != opWait || spans[h.waiter.list] || p.lists[h.waiter.list].serves >= 0 || h.taken {
			continue
		}
		left = append(left, h)
		if waits[h.waiter.list] == nil {
			waits[h.waiter.list] = map[int32]int{}
		}
		waits[h.waiter.list][p.siteOf(h.waiter)]++
	}
	head := make([]int32, len(p.lists)) // the site that each comes back to
	for l := range head {
		for site, n := range waits[l] {
			if n > 1 && (n > waits[l][head[l]] || n == waits[l][head[l]] && site < head[l]) {
				head[l] = site
			}
		}
	}
	left = slices.DeleteFunc(left, func(h handover) bool { return head[h.waiter.list] == 0 || head[h.waiter.list] != p.siteOf(h.waiter) })
	for _, part := range grouped(len(left), func(i int32) string { return p.rec.sites[p.siteOf(left[i].waiter)].root() }) {
		wakers := map[int32]bool{}
		for _, i := range part {
			wakers[left[i].waker.list] = true
		}
		if len(part) >= leastHandovers && len(wakers) > 1 {
			p.share(left, part, true)
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
	all = slices.DeleteFunc(all, func(h handover) bool { return h.waiter.list < 0 || h.waker.list < 0 || p.siteOf(h.waiter) == 0 })
	for i := range all {
		h := &all[i]
		if p.lists[h.waiter.list].ops[h.waiter.op].reason == waitSelect {
			switch p.rec.direction(p.siteOf(h.waker)) {
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

// direction returns what a waker did with a channel: send or receive; opWake if that is neither or not known.
func (r *Recording) direction(site int32) opKind {
	for i, f := range r.sites[site].Frames {
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

// shared reports whether handovers are as those of one object: the one that waits longest is served first.
func (p *program) shared(all []handover, part []int32) bool {
	if len(part) < leastHandovers {
		return false
	}
	waiters := map[int32]bool{}
	for _, i := range part {
		if p.lists[all[i].waiter.list].serves >= 0 && p.op(all[i].waiter).reason != waitMutex {
			return false // it waits for its own request
		}
		waiters[all[i].waiter.list] = true
	}
	fair, judged := inTurn(all, part)
	return len(waiters) == 1 || judged >= leastHandovers/2 && float64(fair) >= fairness*float64(judged)
}

// inTurn counts the handovers, in the order of the ends of the waits, for which several have waited, and those of them in which
// the first to wait was served. It takes n log n.
func inTurn(all []handover, part []int32) (fair, judged int) {
	// part is in the order of the ends of the waits; a goroutine that waits longer and is passed over contradicts.
	begins := slices.Clone(part)
	slices.SortFunc(begins, func(a, b int32) int { return cmp.Compare(all[a].from, all[b].from) })
	over := make([]bool, len(all))
	var waiting [2][]int32 // by what is waited for, in order, with those whose waits are over until they are the first
	var waits [2]int
	next := 0
	for _, i := range part {
		h := &all[i]
		for ; next < len(begins) && all[begins[next]].from < h.at; next++ {
			if w := begins[next]; !over[w] {
				kind := all[w].kind()
				waiting[kind] = append(waiting[kind], w)
				waits[kind]++
			}
		}
		kind := h.kind()
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
		if h.from < h.at {
			waits[kind]--
		}
	}
	return fair, judged
}

// kind is 1 for a wait to send, else 0.
func (h *handover) kind() int {
	if h.taken {
		return 1
	}
	return 0
}

// share makes one object of handovers. A goroutine that waits there serves, or goes on with its own work.
func (p *program) share(all []handover, part []int32, serves bool) {
	p.inferred = true
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
		if h.taken {
			p.segments = append(p.segments, h.waker)
			wait.segment = int32(len(p.segments) - 1)
		} else {
			p.segments = append(p.segments, h.waiter)
			wake.segment = int32(len(p.segments) - 1)
			if serves {
				wait.head = true
				p.lists[h.waiter.list].serves = object
			}
		}
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
