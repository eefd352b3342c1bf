package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Mutual exclusion without contention. A stock trace does not show a lock that no goroutine waited
// for. Goroutines that take turns at one may come to wait for each other there when they are
// faster. What such a trace does show is that spans of some regions were never open at the same
// time, though by chance they would have been: there may be a lock. With one around these spans the
// truth is bounded from the other side. Where they are apart for another reason, such as that one
// goroutine waits for the other, a lock changes nothing.
//
//	goroutine 1   write===             write===            two goroutines, "write" open for a
//	goroutine 2            write===             write===   third of the time on each
//
// If they had nothing to do with each other a third of the writes would begin while the other
// goroutine is in one. Of 60 writes that is 20, and none does. The answer of the program with the
// lock is a bound, never the answer itself: rule mutual_exclusion in package replay, which make
// ablation can leave out. Where it is wrong it does little harm: a lock that is not there widens
// the interval, one that is not found leaves it as it was.

// leastChances is how often spans that have nothing to do with each other would have been open at
// the same time, for it to be no accident that they never were. If begins are independent (Poisson)
// none where 20 are expected has a probability of exp(-20), 2 in 10^9; with 256 regions there are
// 33,000 pairs, and begins are not all independent. Larger, and short windows show no lock.
const leastChances = 20

// excluders finds regions that may exclude each other.
type excluders struct {
	rec     *trace.Recording
	regions int
	open    []int        // by region: goroutines that have spans of it
	never   []bool       // by region: a span of it ended on another goroutine, as no lock would
	met     []bool       // pairs of regions that were open at the same time on two goroutines
	in      []occupation // by goroutine
	total   []occupied   // by region: spans, and the time that they took on all goroutines
	on      [][]int32    // by region: the goroutines with spans of it, in order
	locks   []int        // by goroutine: the locks that it is known to have
	holds   []bool       // by region: each of its spans began with a known lock
}

// An occupation is what a goroutine did.
type occupation struct {
	region  map[int32]*occupied // nil until a span is opened
	running bool
	since   int64 // when it began to run, or ceased to, ns
	ran     int64 // for how long, up to since, ns
}

// occupied is how often spans of a region began, and for how long any was open.
type occupied struct {
	spans, open int
	at          int64 // by clock, when the outermost one that is open began
	took        int64 // by clock, ns; spans within one of the same region count once
}

// Excluding returns by region which lock there may be around its spans, nil if there are none.
// Locks have numbers from 0. A region has one lock at most; the regions of one lock exclude each
// other, and each itself. A recording with inferred operations will do: regions that are within
// known locks need no other one.
//
// It takes the number of regions for each event, and in the end the number of goroutines with spans
// of a region for each pair of regions that never met.
func Excluding(r *trace.Recording) map[int32]int32 {
	n := len(r.Regions)
	if n == 0 || n > mostExcluders {
		return nil
	}
	x := excluders{
		rec: r, regions: n, open: make([]int, n), never: make([]bool, n), met: make([]bool, n*n), in: make([]occupation, r.Count),
		total: make([]occupied, n), locks: make([]int, r.Count), holds: slices.Repeat([]bool{true}, n),
	}
	owner := slices.Repeat([]int32{trace.None}, len(r.Spans))
	for e := range r.All() {
		x.event(e, owner)
	}
	// What is open when the window ends took its time, too.
	for g := range x.in {
		for region := range x.in[g].region {
			x.leave(int32(g), region, r.End, true)
		}
	}
	return x.sets()
}

// mostExcluders bounds the pairs of regions, of which met has 64 KiB then. With more regions
// nothing is looked for.
const mostExcluders = 256

// event follows what goroutines run, which spans they have, and which locks. A span is open on the
// goroutine that began it, owner, until it ends, on any goroutine. One that began where the
// recording has nothing of it has none: no lock could be around it. Read locks exclude nothing.
func (x *excluders) event(e *trace.Event, owner []int32) {
	g := &x.in[e.G]
	if runs, known := e.Runs(); known {
		g.run(runs, e.At)
	}
	switch e.Kind {
	case trace.EvOpen:
		owner[e.Ref] = e.G
		x.enter(e.G, x.rec.Spans[e.Ref].Region, e.At)
	case trace.EvClose:
		region := x.rec.Spans[e.Ref].Region
		x.never[region] = x.never[region] || owner[e.Ref] != e.G
		if owner[e.Ref] >= 0 {
			x.leave(owner[e.Ref], region, e.At, false)
		}
	case trace.EvOperate:
		switch e.What {
		case mark.Lock, mark.WriteLock:
			x.locks[e.G]++
		case mark.Unlock, mark.WriteUnlock:
			x.locks[e.G] = max(0, x.locks[e.G]-1)
		}
	}
}

// run notes that the goroutine runs or does not from now on; it may have done so before.
func (g *occupation) run(runs bool, at int64) {
	if g.running {
		g.ran += at - g.since
	}
	g.running, g.since = runs, at
}

// clock is how long the goroutine was there while others could be: on one processor, while it did
// not run. There two spans that compute are never open at the same time anyhow, which is no sign of
// a lock. Only differences count; with more processors it is the time itself.
func (x *excluders) clock(g *occupation, at int64) int64 {
	if x.rec.Procs > 1 {
		return at
	}
	if g.running {
		return g.since - g.ran
	}
	return at - g.ran
}

// enter opens a span, and marks the pairs of its region with all regions that are open on other
// goroutines. A goroutine does not meet itself: spans within spans are no overlap.
func (x *excluders) enter(id, region int32, at int64) {
	g := &x.in[id]
	if g.region == nil {
		g.region = map[int32]*occupied{}
	}
	o := trace.Entry(g.region, region)
	o.spans++
	if o.open++; o.open > 1 {
		return
	}
	o.at = x.clock(g, at)
	x.holds[region] = x.holds[region] && x.locks[id] > 0
	x.open[region]++
	for other, n := range x.open {
		if own := g.region[int32(other)]; own != nil && own.open > 0 {
			n--
		}
		if n > 0 {
			x.met[int(region)*x.regions+other], x.met[other*x.regions+int(region)] = true, true
		}
	}
}

// leave closes a span, or all of the region, and books the time when the last one is closed.
func (x *excluders) leave(id, region int32, at int64, all bool) {
	g := &x.in[id]
	o := g.region[region]
	if o == nil || o.open == 0 {
		return
	}
	if o.open--; o.open > 0 && !all {
		return
	}
	x.open[region]--
	took := x.clock(g, at) - o.at
	o.took += took
	x.total[region].took += took
}

// sets puts together the regions that may have one lock, the ones with the most time first. It is
// greedy: each set takes all later regions that exclude every one of its members. Which lock is
// around which regions may be ambiguous (a clique cover of the graph of exclusion); the regions
// that take most time, which matter most, come first.
func (x *excluders) sets() map[int32]int32 {
	// Regions of which a lock could be around each span.
	var all []int32
	x.on = make([][]int32, x.regions)
	for g := range x.in {
		x.rec.RestsAt(g)
		for region, o := range x.in[g].region {
			x.total[region].spans += o.spans
			x.on[region] = append(x.on[region], int32(g))
		}
	}
	for i := range x.total {
		if t := &x.total[i]; t.spans > 0 && !x.never[i] && !x.holds[i] && !x.met[i*x.regions+i] {
			all = append(all, int32(i))
		}
	}
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(x.total[b].took, x.total[a].took) })
	locks := map[int32]int32{}
	n := int32(0)
	for i, a := range all {
		if _, has := locks[a]; has {
			continue
		}
		set := []int32{a}
		for _, b := range all[i+1:] {
			if _, has := locks[b]; !has && !slices.ContainsFunc(set, func(c int32) bool { return !x.exclude(b, c) }) {
				set = append(set, b)
			}
		}
		// Alone, a region needs a lock only if it would have overlapped with itself.
		if len(set) == 1 && x.chances(a, a) < leastChances {
			continue
		}
		for _, b := range set {
			locks[b] = n
		}
		n++
	}
	if n == 0 {
		return nil
	}
	return locks
}

// exclude reports whether spans of two regions were never open at the same time, other than by
// chance.
func (x *excluders) exclude(a, b int32) bool {
	return !x.met[int(a)*x.regions+int(b)] && x.chances(a, b) >= leastChances
}

// chances returns how often spans of one region would have begun while one of the other was open on
// another goroutine, if they had nothing to do with each other: for each pair of goroutines the
// spans of a on one, times the part of the window in which b was open on the other. The sum over
// all pairs is that of everything, less what is on one goroutine. Spans of b that begin within one
// of a are not counted, so that it is on the low side.
func (x *excluders) chances(a, b int32) float64 {
	sum := float64(x.total[a].spans) * float64(x.total[b].took)
	for i, g := range x.on[a] {
		x.rec.RestsAt(i)
		if other := x.in[g].region[b]; other != nil {
			sum -= float64(x.in[g].region[a].spans) * float64(other.took)
		}
	}
	return sum / float64(max(1, x.rec.End-x.rec.Start))
}
