package replay

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// At one place in the code several locks may be used: those of the parts of a table, or of accounts. The recording does not show which
// one an operation is on, but much of it can be inferred. A goroutine that waits for a lock waits for the one that is released then; locks
// that are held at the same time are different ones. How many there are is inferred from how often goroutines had to wait, in view of how many
// locks were held then. The rest is left to chance: which of the locks that are free then a goroutine takes does not matter, as long as others
// come to wait for it as often.

// A hold is for how long a goroutine has a lock, in incidents.
type hold struct {
	g          int32
	asked      int32 // when it came for the lock
	from, to   int32
	take, give int32 // the operations, -1 for those before or behind the window
	outer      int32 // the hold of the same goroutine within which this one begins, -1 for none
	waited     bool
}

// A succession is holds of one lock, each of which was waited for during the one before.
type succession struct {
	from, to     int32
	inner, outer []int32 // successions that goroutines had within this one, and within which they had it
	rank         int32   // how many locks must be taken before it, at least
	above        int32   // and how many behind
	lock         int32
}

// A deal says which operations are on the same lock.
type deal struct {
	incidents   []incident
	holds       []hold
	of          []int32 // succession of each hold
	successions []succession
	wrong       int
	// likely is the number of locks that fits best; others from fewest to most fit, too.
	likely, fewest, most int32
}

// mostLocks bounds the number of locks at one place.
const mostLocks = 64

// dealt returns which operations are on the same lock, as if there were any number.
func (x *explanation) dealt() *deal {
	d := &deal{incidents: x.incidents()}
	d.hold(x)
	d.succeed(x)
	return d
}

// contradicted returns which part of the operations cannot be where they are, whichever lock they are on.
func (d *deal) contradicted() float64 {
	return float64(d.wrong) / float64(max(1, len(d.incidents)))
}

// hold finds for how long goroutines have locks: one that has several releases the last one first.
func (d *deal) hold(x *explanation) {
	open, asked, came := map[int32][]int32{}, map[int32]int32{}, map[int32]bool{}
	for i := range d.incidents {
		x.t.rec.restsAt(i)
		e, k := &d.incidents[i], int32(i)
		mine := open[e.g]
		switch e.what {
		case 'L':
			asked[e.g] = k
		case 'l':
			h := hold{g: e.g, asked: k, from: k, to: int32(len(d.incidents)), take: e.op, give: -1, outer: -1}
			if since, waited := asked[e.g]; waited {
				h.asked, h.waited = since, true
				delete(asked, e.g)
			} else if e.seen {
				h.asked, h.waited = -1, true
			}
			if len(mine) == x.lockings {
				d.wrong++
				d.holds[mine[0]].to = k
				mine = mine[1:]
			}
			if n := len(mine); n > 0 {
				h.outer = mine[n-1]
			}
			open[e.g] = append(mine, int32(len(d.holds)))
			d.holds = append(d.holds, h)
		case 'u':
			if n := len(mine); n > 0 {
				d.holds[mine[n-1]].to, d.holds[mine[n-1]].give = k, e.op
				open[e.g] = mine[:n-1]
				break
			}
			h := hold{g: e.g, asked: -1, from: -1, to: k, take: -1, give: e.op, outer: -1}
			if came[e.g] {
				d.wrong++
				h.asked, h.from = k, k
			}
			d.holds = append(d.holds, h)
		}
		came[e.g] = true
	}
}

// succeed joins holds by the goroutine that was waited for.
func (d *deal) succeed(x *explanation) {
	taken, given := map[int32]int32{}, map[int32]int32{}
	for i := range d.holds {
		h := &d.holds[i]
		if h.take >= 0 {
			taken[h.take] = int32(i)
		}
		if h.give >= 0 {
			given[h.give] = int32(i)
		}
	}
	same := newUnion(len(d.holds))
	for _, m := range x.meetings {
		a, _ := slices.BinarySearch(x.seen, x.t.meetings[m].wait)
		b, _ := slices.BinarySearch(x.seen, x.t.meetings[m].wake)
		next, ok := taken[int32(a)]
		last, known := given[int32(b)]
		if ok && known {
			same.join(next, last)
		}
	}
	d.of = make([]int32, len(d.holds))
	groups := grouped(len(d.holds), same.find)
	for n, group := range groups {
		slices.SortFunc(group, func(a, b int32) int { return cmp.Compare(d.holds[a].from, d.holds[b].from) })
		s := succession{from: math.MaxInt32, to: -1}
		for _, i := range group {
			h := &d.holds[i]
			if h.from < s.to { // two at a time
				d.wrong++
			}
			s.from, s.to = min(s.from, h.asked), max(s.to, h.to)
			d.of[i] = int32(n)
		}
		d.successions = append(d.successions, s)
	}
	for i := range d.holds {
		if out := d.holds[i].outer; out >= 0 && d.of[i] != d.of[out] {
			d.successions[d.of[out]].inner = append(d.successions[d.of[out]].inner, d.of[i])
			d.successions[d.of[i]].outer = append(d.successions[d.of[i]].outer, d.of[out])
		}
	}
}

// A claim is a goroutine that comes for a lock: how many it has, and how many others have.
type claim struct {
	own, others int32
	waited      bool
}

// claims returns those whose time is known.
func (d *deal) claims() []claim {
	change := make([]int32, len(d.incidents)+2)
	for _, s := range d.successions {
		change[s.from+1]++
		change[s.to+1]--
	}
	held := make([]int32, len(d.incidents)+1) // at an incident
	now := change[0]
	for k := range d.incidents {
		now += change[k+1]
		held[k] = now
	}
	own := map[int32][]*hold{}
	order := make([]int32, len(d.holds))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.holds[a].from, d.holds[b].from) })
	var all []claim
	for _, i := range order {
		h := &d.holds[i]
		mine := slices.DeleteFunc(own[h.g], func(o *hold) bool { return o.to <= h.from })
		if h.asked >= 0 {
			a := claim{int32(len(mine)), held[h.asked] - int32(len(mine)), h.waited}
			if !h.waited { // this one is among them
				a.others--
			}
			all = append(all, a)
		}
		own[h.g] = append(mine, h)
	}
	return all
}

// count finds how many locks there are: as many as make it most likely that goroutines waited as often as they did, if each takes any of
// the locks that it does not have.
func (d *deal) count() {
	const least, misplaced = 2, 0.01 // inferred operations may be a little too early or too late
	all := d.claims()
	var fits, waits [mostLocks + 1]float64 // the logarithm of the likelihood, and how often goroutines would have waited
	waited := 0.0
	for _, a := range all {
		if a.waited {
			waited++
		}
	}
	d.likely = least
	for n := int32(least); n <= mostLocks; n++ {
		for _, a := range all {
			p := min(float64(a.others)/float64(max(1, n-a.own)), 1)
			waits[n] += p
			if !a.waited {
				p = 1 - p
			}
			fits[n] += math.Log(max(p, misplaced))
		}
		if fits[n] > fits[d.likely] {
			d.likely = n
		}
	}
	d.fewest, d.most = d.likely, d.likely
	for n := int32(least); n <= mostLocks; n++ {
		if fits[n] >= fits[d.likely]-likelyBy || math.Abs(waits[n]-waited) <= likelyWithin*waited {
			d.fewest, d.most = min(d.fewest, n), max(d.most, n)
		}
	}
}

// likelyBy is by how much the logarithm of a likelihood may be below the best, for 95 % confidence: half of the quantile of chi-squared
// with one degree of freedom.
const likelyBy = 1.92

// likelyWithin is by which part of the waits a number of locks may be wrong about them, and still be likely: goroutines do not take each of
// the locks as often, and take one that was released before the one that has waited for it runs.
const likelyWithin = 0.15

// assign gives each succession one of n locks, such that no two have one at the same time, and a goroutine that takes several takes them in one order.
func (d *deal) assign(n int32) {
	which := rand.New(rand.NewPCG(1, uint64(n))) // the same recording gives the same answer
	for i := range d.successions {
		d.successions[i].rank, d.successions[i].above, d.successions[i].lock = -1, -1, -1
	}
	order := make([]int32, len(d.successions))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.successions[a].from, d.successions[b].from) })
	for _, i := range order {
		d.depth(i, false)
		d.depth(i, true)
	}
	until := slices.Repeat([]int32{math.MinInt32}, int(n)) // when each is free
	for _, i := range order {
		s := &d.successions[i]
		best, fewest, alike := int32(0), math.MaxInt, 0
		soonest := max(s.from, slices.Min(until))
		for lock := range n {
			if until[lock] > soonest {
				continue
			}
			wrong := d.disordered(s, lock, n)
			if wrong > fewest {
				continue
			}
			if alike++; wrong < fewest {
				fewest, alike = wrong, 1
			}
			if which.IntN(alike) == 0 {
				best = lock
			}
		}
		s.lock, until[best] = best, max(until[best], s.to)
	}
}

// disordered counts by how many others it would contradict the order of the locks if a succession had one of n locks.
func (d *deal) disordered(s *succession, lock, n int32) int {
	wrong := 0
	for _, i := range s.outer {
		if o := &d.successions[i]; o.lock >= lock {
			wrong += 2
		}
	}
	for _, i := range s.inner {
		if o := &d.successions[i]; o.lock >= 0 && o.lock <= lock {
			wrong += 2
		}
	}
	if lock < s.rank || lock > n-1-s.above {
		wrong++
	}
	return wrong
}

// depth returns how many locks must be taken before that of a succession, or behind it.
func (d *deal) depth(i int32, above bool) int32 {
	s := &d.successions[i]
	of, next := &s.rank, s.outer
	if above {
		of, next = &s.above, s.inner
	}
	if *of >= 0 {
		return *of
	}
	*of = 0 // where they come round, one of them is not counted
	deepest := int32(0)
	for _, k := range next {
		deepest = max(deepest, 1+d.depth(k, above))
	}
	*of = deepest
	return deepest
}

// locks returns the lock of each operation.
func (d *deal) locks(operations int) []int32 {
	of := slices.Repeat([]int32{-1}, operations)
	for i := range d.holds {
		h, lock := &d.holds[i], d.successions[d.of[i]].lock
		if h.take >= 0 {
			of[h.take] = lock
		}
		if h.give >= 0 {
			of[h.give] = lock
		}
	}
	for i := range d.holds { // one that takes two, one right behind the other, does so in one order
		h := &d.holds[i]
		if h.outer < 0 || h.take < 0 || h.give < 0 {
			continue
		}
		if o := &d.holds[h.outer]; o.take >= 0 && o.give >= 0 && of[o.take] > of[h.take] {
			of[o.take], of[h.take] = of[h.take], of[o.take]
			of[o.give], of[h.give] = of[h.give], of[o.give]
		}
	}
	for k, e := range d.incidents { // a goroutine that waits still does so for one that is held
		if e.what == 'L' && of[e.op] < 0 {
			for i := range d.successions {
				if s := &d.successions[i]; s.from <= int32(k) && s.to > int32(k) {
					of[e.op] = s.lock
				}
			}
		}
	}
	for i := range of {
		of[i] = max(0, of[i])
	}
	return of
}
