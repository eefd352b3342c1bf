package hidden

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// At one place in the code several locks may be used: those of the parts of a table, or of
// accounts. The recording does not show which one an operation is on, but much of it can be
// inferred. A goroutine that waits for a lock waits for the one that is released then; locks that
// are held at the same time are different ones. How many there are is inferred from how often
// goroutines had to wait, in view of how many locks were held then. The rest is left to chance:
// which of the locks that are free then a goroutine takes does not matter, as long as others come
// to wait for it as often.

// A Hold is for how long a goroutine has a lock, in incidents.
type Hold struct {
	G          int32
	Asked      int32 // when it came for the lock
	From, To   int32
	take, give int32 // the operations, -1 for those before or behind the window
	Outer      int32 // the hold of the same goroutine within which this one begins, -1 for none
	Waited     bool
}

// A Succession is holds of one lock, each of which was waited for during the one before.
type Succession struct {
	From, To     int32
	inner, outer []int32 // successions that goroutines had within this one, and within which they had it
	rank         int32   // how many locks must be taken before it, at least
	above        int32   // and how many behind
	Lock         int32
}

// A Deal says which operations are on the same lock.
type Deal struct {
	Incidents   []Incident
	Holds       []Hold
	Of          []int32 // succession of each hold
	Successions []Succession
	wrong       int
	// Likely is the number of locks that fits best; others from fewest to most fit, too.
	Likely, Fewest, Most int32
}

// mostLocks bounds the number of locks at one place.
const mostLocks = 64

// dealt returns which operations are on the same lock, as if there were any number.
func (x *explanation) dealt() *Deal {
	d := &Deal{Incidents: x.incidents()}
	d.hold(x)
	d.succeed(x)
	return d
}

// contradicted returns which part of the operations cannot be where they are, whichever lock they
// are on.
func (d *Deal) contradicted() float64 {
	return float64(d.wrong) / float64(max(1, len(d.Incidents)))
}

// hold finds for how long goroutines have locks: one that has several releases the last one first.
func (d *Deal) hold(x *explanation) {
	open, asked, came := map[int32][]int32{}, map[int32]int32{}, map[int32]bool{}
	for i := range d.Incidents {
		x.t.rec.RestsAt(i)
		e, k := &d.Incidents[i], int32(i)
		mine := open[e.g]
		switch e.what {
		case 'L':
			asked[e.g] = k
		case 'l':
			h := Hold{G: e.g, Asked: k, From: k, To: int32(len(d.Incidents)), take: e.op, give: -1, Outer: -1}
			if since, waited := asked[e.g]; waited {
				h.Asked, h.Waited = since, true
				delete(asked, e.g)
			} else if e.seen {
				h.Asked, h.Waited = -1, true
			}
			if len(mine) == x.lockings {
				d.wrong++
				d.Holds[mine[0]].To = k
				mine = mine[1:]
			}
			if n := len(mine); n > 0 {
				h.Outer = mine[n-1]
			}
			open[e.g] = append(mine, int32(len(d.Holds)))
			d.Holds = append(d.Holds, h)
		case 'u':
			if n := len(mine); n > 0 {
				d.Holds[mine[n-1]].To, d.Holds[mine[n-1]].give = k, e.op
				open[e.g] = mine[:n-1]
				break
			}
			h := Hold{G: e.g, Asked: -1, From: -1, To: k, take: -1, give: e.op, Outer: -1}
			if came[e.g] {
				d.wrong++
				h.Asked, h.From = k, k
			}
			d.Holds = append(d.Holds, h)
		}
		came[e.g] = true
	}
}

// succeed joins holds by the goroutine that was waited for.
func (d *Deal) succeed(x *explanation) {
	taken, given := map[int32]int32{}, map[int32]int32{}
	for i := range d.Holds {
		h := &d.Holds[i]
		if h.take >= 0 {
			taken[h.take] = int32(i)
		}
		if h.give >= 0 {
			given[h.give] = int32(i)
		}
	}
	same := model.NewUnion(len(d.Holds))
	for _, m := range x.meetings {
		a, _ := slices.BinarySearch(x.seen, x.t.meetings[m].wait)
		b, _ := slices.BinarySearch(x.seen, x.t.meetings[m].wake)
		next, ok := taken[int32(a)]
		last, known := given[int32(b)]
		if ok && known {
			same.Join(next, last)
		}
	}
	d.Of = make([]int32, len(d.Holds))
	groups := model.Grouped(len(d.Holds), same.Find)
	for n, group := range groups {
		slices.SortFunc(group, func(a, b int32) int { return cmp.Compare(d.Holds[a].From, d.Holds[b].From) })
		s := Succession{From: math.MaxInt32, To: -1}
		for _, i := range group {
			h := &d.Holds[i]
			if h.From < s.To { // two at a time
				d.wrong++
			}
			s.From, s.To = min(s.From, h.Asked), max(s.To, h.To)
			d.Of[i] = int32(n)
		}
		d.Successions = append(d.Successions, s)
	}
	for i := range d.Holds {
		if out := d.Holds[i].Outer; out >= 0 && d.Of[i] != d.Of[out] {
			d.Successions[d.Of[out]].inner = append(d.Successions[d.Of[out]].inner, d.Of[i])
			d.Successions[d.Of[i]].outer = append(d.Successions[d.Of[i]].outer, d.Of[out])
		}
	}
}

// A claim is a goroutine that comes for a lock: how many it has, and how many others have.
type claim struct {
	own, others int32
	waited      bool
}

// claims returns those whose time is known.
func (d *Deal) claims() []claim {
	change := make([]int32, len(d.Incidents)+2)
	for _, s := range d.Successions {
		change[s.From+1]++
		change[s.To+1]--
	}
	held := make([]int32, len(d.Incidents)+1) // at an incident
	now := change[0]
	for k := range d.Incidents {
		now += change[k+1]
		held[k] = now
	}
	own := map[int32][]*Hold{}
	order := make([]int32, len(d.Holds))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.Holds[a].From, d.Holds[b].From) })
	var all []claim
	for _, i := range order {
		h := &d.Holds[i]
		mine := slices.DeleteFunc(own[h.G], func(o *Hold) bool { return o.To <= h.From })
		if h.Asked >= 0 {
			a := claim{int32(len(mine)), held[h.Asked] - int32(len(mine)), h.Waited}
			if !h.Waited { // this one is among them
				a.others--
			}
			all = append(all, a)
		}
		own[h.G] = append(mine, h)
	}
	return all
}

// Count finds how many locks there are: as many as make it most likely that goroutines waited as
// often as they did, if each takes any of the locks that it does not have.
func (d *Deal) Count() {
	const least, misplaced = 2, 0.01 // inferred operations may be a little too early or too late
	all := d.claims()
	var fits, waits [mostLocks + 1]float64 // the logarithm of the likelihood, and how often goroutines would have waited
	waited := 0.0
	for _, a := range all {
		if a.waited {
			waited++
		}
	}
	d.Likely = least
	for n := int32(least); n <= mostLocks; n++ {
		for _, a := range all {
			p := min(float64(a.others)/float64(max(1, n-a.own)), 1)
			waits[n] += p
			if !a.waited {
				p = 1 - p
			}
			fits[n] += math.Log(max(p, misplaced))
		}
		if fits[n] > fits[d.Likely] {
			d.Likely = n
		}
	}
	d.Fewest, d.Most = d.Likely, d.Likely
	for n := int32(least); n <= mostLocks; n++ {
		if fits[n] >= fits[d.Likely]-likelyBy || math.Abs(waits[n]-waited) <= likelyWithin*waited {
			d.Fewest, d.Most = min(d.Fewest, n), max(d.Most, n)
		}
	}
}

// likelyBy is by how much the logarithm of a likelihood may be below the best, for 95 % confidence:
// half of the quantile of chi-squared with one degree of freedom.
const likelyBy = 1.92

// likelyWithin is by which part of the waits a number of locks may be wrong about them, and still
// be likely: goroutines do not take each of the locks as often, and take one that was released
// before the one that has waited for it runs.
const likelyWithin = 0.15

// Assign gives each succession one of n locks, such that no two have one at the same time, and a
// goroutine that takes several takes them in one order.
func (d *Deal) Assign(n int32) {
	which := rand.New(rand.NewPCG(1, uint64(n))) // the same recording gives the same answer
	for i := range d.Successions {
		d.Successions[i].rank, d.Successions[i].above, d.Successions[i].Lock = -1, -1, -1
	}
	order := make([]int32, len(d.Successions))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.Successions[a].From, d.Successions[b].From) })
	for _, i := range order {
		d.depth(i, false)
		d.depth(i, true)
	}
	until := slices.Repeat([]int32{math.MinInt32}, int(n)) // when each is free
	for _, i := range order {
		s := &d.Successions[i]
		best, fewest, alike := int32(0), math.MaxInt, 0
		soonest := max(s.From, slices.Min(until))
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
		s.Lock, until[best] = best, max(until[best], s.To)
	}
}

// disordered counts by how many others it would contradict the order of the locks if a succession
// had one of n locks.
func (d *Deal) disordered(s *Succession, lock, n int32) int {
	wrong := 0
	for _, i := range s.outer {
		if o := &d.Successions[i]; o.Lock >= lock {
			wrong += 2
		}
	}
	for _, i := range s.inner {
		if o := &d.Successions[i]; o.Lock >= 0 && o.Lock <= lock {
			wrong += 2
		}
	}
	if lock < s.rank || lock > n-1-s.above {
		wrong++
	}
	return wrong
}

// depth returns how many locks must be taken before that of a succession, or behind it.
func (d *Deal) depth(i int32, above bool) int32 {
	s := &d.Successions[i]
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
func (d *Deal) locks(operations int) []int32 {
	of := slices.Repeat([]int32{-1}, operations)
	for i := range d.Holds {
		h, lock := &d.Holds[i], d.Successions[d.Of[i]].Lock
		if h.take >= 0 {
			of[h.take] = lock
		}
		if h.give >= 0 {
			of[h.give] = lock
		}
	}
	for i := range d.Holds { // one that takes two, one right behind the other, does so in one order
		h := &d.Holds[i]
		if h.Outer < 0 || h.take < 0 || h.give < 0 {
			continue
		}
		if o := &d.Holds[h.Outer]; o.take >= 0 && o.give >= 0 && of[o.take] > of[h.take] {
			of[o.take], of[h.take] = of[h.take], of[o.take]
			of[o.give], of[h.give] = of[h.give], of[o.give]
		}
	}
	for k, e := range d.Incidents { // a goroutine that waits still does so for one that is held
		if e.what == 'L' && of[e.op] < 0 {
			for i := range d.Successions {
				if s := &d.Successions[i]; s.From <= int32(k) && s.To > int32(k) {
					of[e.op] = s.Lock
				}
			}
		}
	}
	for i := range of {
		of[i] = max(0, of[i])
	}
	return of
}
