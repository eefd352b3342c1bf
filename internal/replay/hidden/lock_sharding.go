package hidden

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Lock sharding (lock striping, a lock for each account or key): at one place in the code several
// locks may be used, those of the parts of a table, or of accounts. The recording does not show
// which one an operation is on, but much of it can be inferred. A goroutine that waits for a lock
// waits for the one that is released then; locks that are held at the same time are different ones.
// How many there are is inferred from how often goroutines had to wait, in view of how many locks
// were held then. The rest is left to chance: which of the locks that are free then a goroutine
// takes does not matter, as long as others come to wait for it as often.
//
//	goroutine 1   take=====give                 two holds of one lock, a succession:
//	goroutine 2        ask~~~~~take====give     2 waits, and the release by 1 ends that
//	goroutine 3      take=========give          held at the same time: another lock
//
// It takes for granted that each lock is as likely as the others. With a hot key goroutines wait
// more often than that has it, which looks like fewer locks. So other numbers that fit are
// replayed, too, and bound the answer (otherLocks in package replay). TestSeveral holds that the
// true number is among them for two stock programs, TestSeveralCount for 2, 4, 8 and 16 locks taken
// at random.

// A Hold is for how long a goroutine has a lock, in incidents: times are indices of them, -1 for
// before the window and how many there are for behind it.
type Hold struct {
	G          int32
	Asked      int32 // when it came for the lock, -1 if that is not in the window
	From, To   int32 // when it has it, and when it gives it back
	take, give int32 // the operations, -1 for those before or behind the window
	Outer      int32 // the hold of the same goroutine within which this one begins, -1 for none
	Waited     bool
}

// A Succession is holds of one lock, each of which was waited for during the one before: all of
// them are of the lock that it is given.
type Succession struct {
	From, To     int32   // from when the first one came for it until the last one gave it back
	inner, outer []int32 // successions that were had within this one, and around it
	rank         int32   // how many locks must be taken before it, at least; -1 if not counted yet
	above        int32   // and how many behind
	Lock         int32   // from 0, -1 for none yet
}

// A Deal shows which operations are on the same lock.
type Deal struct {
	Incidents   []Incident // in order; of the explanation, whose memory it uses
	Holds       []Hold     // in the order in which they become known
	Of          []int32    // succession of each hold
	Successions []Succession
	wrong       int // operations that no number of locks explains
	// Likely is the number of locks that fits best; others from fewest to most fit, too.
	Likely, Fewest, Most int32
}

// mostLocks bounds the number of locks at one place. Goroutines hardly ever wait where there are
// many times more locks than goroutines that have one, and any larger number fits as well then.
const mostLocks = 64

// dealt returns which operations are on the same lock, as if there were any number. It is made for
// each combination of assumptions; Count and Assign follow for the one that is taken.
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

// hold finds for how long goroutines have locks: one that has several releases the last one first,
// as deferred calls of Unlock do. Where a goroutine gives them back in another order, such as hand
// over hand along a list, two of its holds have each other's ends. A goroutine has as many locks at
// once as there are places where they are taken; one that takes a second lock at the same place, in
// a loop over accounts, contradicts.
func (d *Deal) hold(x *explanation) {
	// By goroutine: its holds, innermost last, when it began to wait, and whether it did anything.
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
			// It came when it began to wait; a seen Lock without that waited from before the
			// window.
			if since, waited := asked[e.g]; waited {
				h.Asked, h.Waited = since, true
				delete(asked, e.g)
			} else if e.seen {
				h.Asked, h.Waited = -1, true
			}
			// One too many: an Unlock is missing. The oldest hold ends here, so that it is one
			// error.
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
			// It gives back what it has not taken: a lock from before the window, if that is the
			// first that it does. Else a Lock is missing.
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

// succeed joins holds by the goroutine that was waited for: what ended a wait is the release of the
// very lock that was taken next. That is certain; all else about which lock it was is not.
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
	// A lock that was tried for several times has a meeting for each: all are joined.
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
	// The holds of a succession must not overlap, as they are of one lock.
	d.Of = make([]int32, len(d.Holds))
	groups := model.Grouped(model.Numbers(len(d.Holds)), same.Find)
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
	// A lock that is held within another one is not the same, and comes behind it in the order in
	// which goroutines take locks.
	for i := range d.Holds {
		if out := d.Holds[i].Outer; out >= 0 && d.Of[i] != d.Of[out] {
			d.Successions[d.Of[out]].inner = append(d.Successions[d.Of[out]].inner, d.Of[i])
			d.Successions[d.Of[i]].outer = append(d.Successions[d.Of[i]].outer, d.Of[out])
		}
	}
}

// A claim is a goroutine that comes for a lock: how many it has, and how many others have. It is
// one trial with a random lock: of n locks it takes one of the n - own that it does not have, and
// waits if that is one of the others.
type claim struct {
	own, others int32
	waited      bool
}

// claims returns the claims whose time is known, in the order of the holds.
func (d *Deal) claims() []claim {
	// How many successions there are at each incident, by a running sum of begins and ends: a
	// succession from k to m counts at k and up to m-1. An index is one more than its incident,
	// since -1 is before the window.
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
	// Take from each what the goroutine itself has.
	own := map[int32][]*Hold{} // by goroutine, what it has
	order := model.Numbers(len(d.Holds))
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
// often as they did, if each takes any of the locks that it does not have (maximum likelihood).
//
//	5 others have a lock, own 0        n = 5: waits for certain    n = 10: in 1 of 2 claims
//	of 100 such claims 48 waited       n = 10 is most likely, 9 to 13 fit, too
//
// One lock is not among the numbers: it was refused before. Claims count as independent of each
// other, which makes the range of numbers too narrow where a few long holds make many wait; the
// second test, of how many waits each number has in sum, widens it. It takes mostLocks times the
// number of claims.
func (d *Deal) Count() {
	const least, misplaced = 2, 0.01 // inferred operations may be a little too early or too late
	all := d.claims()
	// By number of locks: the logarithm of the likelihood, and how often goroutines would have
	// waited.
	var fits, waits [mostLocks + 1]float64
	waited := 0.0
	for _, a := range all {
		if a.waited {
			waited++
		}
	}
	// Find the number with the largest likelihood, of several the least.
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
	// Take in the numbers that are hardly less likely, or have about as many waits.
	d.Fewest, d.Most = d.Likely, d.Likely
	for n := int32(least); n <= mostLocks; n++ {
		if fits[n] >= fits[d.Likely]-likelyBy || math.Abs(waits[n]-waited) <= likelyWithin*waited {
			d.Fewest, d.Most = min(d.Fewest, n), max(d.Most, n)
		}
	}
}

// likelyBy is by how much the logarithm of a likelihood may be below the best, for 95 % confidence:
// half of the 95 % quantile of chi-squared with one degree of freedom, 3.84 (Wilks's theorem).
const likelyBy = 1.92

// likelyWithin is by which part of the waits a number of locks may be wrong about them, and still
// be likely: goroutines do not take each of the locks as often, and take one that was released
// before the one that has waited for it runs.
const likelyWithin = 0.15

// Assign gives each succession one of n locks, such that no two have one at the same time, and a
// goroutine that takes several takes them in one order. Where more than n are held at a time that
// cannot be: then the lock counts that is free soonest. Where goroutines take locks in no common
// order, as few as possible are out of order.
//
// The order matters since the replay decides anew who comes first: a wait-for cycle that could not
// close in the program must not be able to close there (deadlock avoidance by lock ordering).
// TestSeveral holds that at most 5 % of the acquisitions are in another order than the others.
//
// It changes Lock, rank and above of the successions, and may be called for several n.
func (d *Deal) Assign(n int32) {
	which := rand.New(rand.NewPCG(1, uint64(n))) // the same recording gives the same answer
	for i := range d.Successions {
		d.Successions[i].rank, d.Successions[i].above, d.Successions[i].Lock = -1, -1, -1
	}
	order := model.Numbers(len(d.Successions))
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(d.Successions[a].From, d.Successions[b].From) })
	for _, i := range order {
		d.depth(i, false)
		d.depth(i, true)
	}
	// By when they begin, each gets a free lock with the least disorder, one of several by lot: the
	// first one each time would make some locks busier than others.
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
// had one of n locks. A contradiction with a lock that is given already counts twice: it is
// certain, while too few locks below or above for the rest may yet turn out well.
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

// depth returns how many locks must be taken before that of a succession, or behind it: the longest
// way through outer, or inner, successions. Each is counted once.
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

// locks returns the lock of each operation, from 0, by the number of operations. What belongs to no
// hold is on lock 0.
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
