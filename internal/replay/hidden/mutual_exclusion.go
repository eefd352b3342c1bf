package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A stock trace does not show a lock that no goroutine waited for. Goroutines that take turns at
// one may come to wait for each other there when they are faster. What such a trace does show is
// that spans of some regions were never open at the same time, though by chance they would have
// been: there may be a lock. With one around these spans the truth is bounded from the other side.
// Where they are apart for another reason, such as that one goroutine waits for the other, a lock
// changes nothing.

// leastChances is how often spans that have nothing to do with each other would have been open at
// the same time, for it to be no accident that they never were.
const leastChances = 20

// excluders finds regions that may exclude each other.
type excluders struct {
	rec     *trace.Recording
	regions int
	open    []int        // by region: goroutines that have spans of it
	never   []bool       // regions whose spans end on other goroutines, or within known locks
	met     []bool       // pairs of regions that were open at the same time
	in      []occupation // by goroutine
	total   []occupied   // by region
	locks   []int        // by goroutine: the locks that it is known to have
	holds   []bool       // by region: each of its spans began with a known lock
}

// An occupation is what a goroutine did.
type occupation struct {
	region  map[int32]*occupied
	running bool
	since   int64 // when it began to run
	ran     int64
}

// occupied is how often spans of a region began, and for how long any was open.
type occupied struct {
	spans, open int
	at          int64
	took        int64
}

// Excluding returns by region which lock there may be around its spans, nil if there are none.
// Locks have numbers from 0.
func Excluding(r *trace.Recording) map[int32]int32 {
	n := len(r.Regions)
	if n == 0 || n > mostExcluders {
		return nil
	}
	x := excluders{
		rec: r, regions: n, open: make([]int, n), never: make([]bool, n), met: make([]bool, n*n), in: make([]occupation, r.Count),
		total: make([]occupied, n), locks: make([]int, r.Count), holds: slices.Repeat([]bool{true}, n),
	}
	owner := make([]int32, len(r.Spans))
	for i := range r.Events {
		r.RestsAt(i)
		x.event(&r.Events[i], owner)
	}
	for g := range x.in {
		for region := range x.in[g].region {
			x.leave(int32(g), region, r.End, true)
		}
	}
	return x.sets()
}

// mostExcluders bounds the pairs of regions.
const mostExcluders = 256

func (x *excluders) event(e *trace.Event, owner []int32) {
	g := &x.in[e.G]
	switch e.Kind {
	case trace.EvExists:
		g.run(e.Arg == trace.StateRunning, e.At)
	case trace.EvStart, trace.EvReturn:
		g.run(true, e.At)
	case trace.EvYield, trace.EvWait, trace.EvSyscall, trace.EvEnd:
		g.run(false, e.At)
	case trace.EvOpen:
		owner[e.Ref] = e.G
		x.enter(e.G, x.rec.Spans[e.Ref].Region, e.At)
	case trace.EvClose:
		region := x.rec.Spans[e.Ref].Region
		x.never[region] = x.never[region] || owner[e.Ref] != e.G
		x.leave(owner[e.Ref], region, e.At, false)
	case trace.EvOperate:
		switch e.What {
		case mark.Lock, mark.WriteLock:
			x.locks[e.G]++
		case mark.Unlock, mark.WriteUnlock:
			x.locks[e.G] = max(0, x.locks[e.G]-1)
		}
	}
}

func (g *occupation) run(runs bool, at int64) {
	if g.running {
		g.ran += at - g.since
	}
	g.running, g.since = runs, at
}

// clock is how long the goroutine was there while others could be: on one processor, while it did
// not run.
func (x *excluders) clock(g *occupation, at int64) int64 {
	if x.rec.Procs > 1 {
		return at
	}
	if g.running {
		return g.since - g.ran
	}
	return at - g.ran
}

func (x *excluders) enter(id, region int32, at int64) {
	g := &x.in[id]
	o := g.region[region]
	if o == nil {
		if g.region == nil {
			g.region = map[int32]*occupied{}
		}
		o = &occupied{}
		g.region[region] = o
	}
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

// sets puts together the regions that may have one lock, those with the most time first.
func (x *excluders) sets() map[int32]int32 {
	var all []int32
	for i := range x.total {
		t := &x.total[i]
		for g := range x.in {
			if o := x.in[g].region[int32(i)]; o != nil {
				t.spans += o.spans
			}
		}
		if t.spans > 0 && !x.never[i] && !x.holds[i] && !x.met[i*x.regions+i] {
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
// another goroutine, if they had nothing to do with each other.
func (x *excluders) chances(a, b int32) float64 {
	sum := float64(x.total[a].spans) * float64(x.total[b].took)
	for g := range x.in {
		own, other := x.in[g].region[a], x.in[g].region[b]
		if own != nil && other != nil {
			sum -= float64(own.spans) * float64(other.took)
		}
	}
	return sum / float64(max(1, x.rec.End-x.rec.Start))
}
