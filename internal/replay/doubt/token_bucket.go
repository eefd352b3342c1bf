package doubt

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A token bucket by a channel, in a program that marks no operations. A goroutine sends at each of
// its ticks, but only where there is room (select with a default), and workers receive first. The
// trace shows the ticks that let a goroutine go on. Of the others it does not show whether their
// token was stored, and taken later without a wait, or refused. So it shows neither where a
// goroutine that comes sooner finds one, nor for how many of them there is one: in truth a faster
// region may bring nothing, if none was refused, and the replay of waits as long as they were shows
// what it brings if there is always one. See select_default.go for programs that mark operations.
//
// Goroutines that wait for the next tick itself are alike, as where what has come until then is
// written at once: a goroutine that comes sooner is let go on by another tick. There the waits may
// become shorter, too.
//
//	tick      1    2    3    4    5    6     each 2 ms
//	a worker  go   .    go   .    .    go    waited for ticks 1, 3 and 6
//
// Ticks 2, 4 and 5 have spilled, or filled the bucket; which one, runtime.selectnbsend leaves no
// trace of. If they have spilled, faster workers are let go on by them, up to one for each tick. If
// they have filled the bucket, each token was used, and the rate of ticks is all that there is. An
// answer lies between both: bound in widen.go of package replay. With no tick spilled there is no
// doubt for faster regions: the limiter is the bottleneck.
//
// The goroutine that ticks is found by what wakes it: timers, and little else. Whether each tick is
// even does not matter here. A bucket by time.AfterFunc has a new goroutine for each tick, as
// goFunc in Go's time/sleep.go has it, so that all of one place are one. Close of a channel and
// Broadcast let all waiters go on; a timer's goroutine that closes a channel is a context's
// deadline, and no tick. TestBucket, TestNextTick and TestBucketOfTrace in package replay hold
// answers against such programs, TestNoBucket has what is alike and is no bucket: a lock, a sender
// that waits for room.

const (
	// leastDrips is how often such a goroutine must have let others go on, in parts of the visits
	// of a progress point, for these to depend on it, and leastDripping how often at all. Below,
	// the ticks that are waited for are too few to bound an answer by more than its margin.
	leastDrips    = 0.01
	leastDripping = 3
	// MostSpilled is which part of the ticks may let no goroutine go on without mattering for
	// regions that are faster: no more could be gained.
	MostSpilled = ModelError
)

// A dripper is a goroutine outside of requests whose waits timers end, or goroutines that timers
// begin, and that tries to send in between.
type dripper struct {
	ticks, others int     // waits that timers ended, or something else
	dripping      int     // ticks at which it let at least one go on
	sent          bool    // it has let one go on since the last tick
	several       bool    // it may let several go on at a tick
	drips         []int32 // the goroutines that it has let go on
}

// spill returns which part of the ticks lets no goroutine go on; with several, the mean over the
// goroutines that it lets go on. Of 100 ticks that close a channel for four workers, which wait for
// 60 of them each, 0.4 are spilled for each worker, though one waits at nearly each tick. It may be
// below 0 where a bucket has bursts.
func (d *dripper) spill() float64 {
	if !d.several {
		return 1 - float64(d.dripping)/float64(d.ticks)
	}
	all := slices.Sorted(slices.Values(d.drips))
	return 1 - float64(len(d.drips))/(float64(d.ticks)*float64(len(slices.Compact(all))))
}

// Buckets describes the ticks that goroutines wait for.
type Buckets struct {
	drippers map[int32]bool     // goroutines, and numbers of places where timers begin some
	Spilled  map[string]float64 // by progress point that depends on them: which part of the ticks let no goroutine go on
	Waited   float64            // which part of the time goroutines are there they wait for ticks
	Wait     float64            // for how long, ns
	Tick     float64            // how long it is from one to the next at most, ns
	// Slower means that each tick is waited for, of all buckets: a region that is faster brings
	// nothing, but one that is slower may miss some.
	Slower bool
	// Replayed means that the waits as long as they were are among the alternatives.
	Replayed bool
}

// FindBuckets finds the token buckets and the like in a recording of the program that marks no
// operations, nil if there are none that matter. It goes through the events a few times, and once
// more for each bucket. Waited and Wait are the largest of all buckets, for all progress points.
func FindBuckets(p *model.Program, rec *trace.Recording) *Buckets {
	u := drippers{rec: rec, requests: InRequests(rec), waits: make([]int32, rec.Count), is: trace.BySite(rec.Sites, trace.Classify), who: model.Numbers(int(rec.Count)), all: map[int32]*dripper{}}
	for e := range rec.All() {
		u.event(e)
	}
	b := &Buckets{Slower: true, drippers: map[int32]bool{}, Spilled: map[string]float64{}}
	for who, d := range u.all {
		// What something other than a timer ends in more than a twentieth of its waits works for
		// others, as a batcher with a flush timer does, and keeps no time.
		if len(d.drips) < leastDripping || 20*d.others > d.ticks {
			continue
		}
		spilled := d.spill()
		b.Slower = b.Slower && spilled <= MostSpilled
		b.drippers[who] = true
		waited, wait := u.waitsFor(who)
		b.Waited, b.Wait, b.Tick = max(b.Waited, waited), max(b.Wait, wait), max(b.Tick, float64(rec.End-rec.Start)/float64(max(1, d.ticks)))
		for point, n := range dependOn(p, rec, d.drips) {
			if name := p.Points[point].Name; float64(len(d.drips)) >= leastDrips*float64(n) {
				b.Spilled[name] = max(b.Spilled[name], spilled, 0)
			}
		}
	}
	if len(b.Spilled) == 0 {
		return nil
	}
	return b
}

// drippers finds those of a recording.
type drippers struct {
	rec      *trace.Recording
	requests []bool                     // by goroutine: it has spans or visits points
	waits    []int32                    // by goroutine: why it waits
	is       [][trace.FrameClasses]bool // by site
	who      []int32                    // by goroutine: a number, the same for all that timers have begun at one place
	all      map[int32]*dripper
}

// event counts ticks, other wake-ups, and what a goroutine outside of requests lets go on.
func (u *drippers) event(e *trace.Event) {
	switch {
	case e.Kind == trace.EvExists:
		u.waits[e.G] = e.Ref
	case e.Kind == trace.EvWait:
		u.waits[e.G] = e.Arg
	// Each goroutine that a timer begins is a tick of its place. Numbers from Count on are places.
	case e.Kind == trace.EvCreate && e.By < 0 && !u.requests[e.G]:
		u.who[e.G] = u.rec.Count + e.Site
		u.of(e.G).tick()
	case e.Kind != trace.EvReady:
	case e.By < 0:
		if u.requests[e.G] {
			break
		}
		switch d := u.of(e.G); u.waits[e.G] {
		case trace.WaitTimer, trace.WaitSelect, trace.WaitReceive:
			d.tick()
		default:
			d.others++
		}
	default:
		if !u.requests[e.G] {
			u.of(e.G).others++
		}
		if u.drips(e) {
			u.of(e.By).drip(e.G, u.is[e.Site][trace.Teller])
		}
	}
}

// drips reports whether a goroutine outside of requests lets one of a request go on, other than by
// a lock or a send that waits for room.
func (u *drippers) drips(e *trace.Event) bool {
	if u.requests[e.By] || !u.requests[e.G] {
		return false
	}
	if u.is[e.Site][trace.Teller] { // what timers begin closes the channels of contexts
		return u.who[e.By] == e.By
	}
	return u.is[e.Site][trace.TrySender] && (u.waits[e.G] == trace.WaitReceive || u.waits[e.G] == trace.WaitSelect)
}

// waitsFor returns which part of the time that goroutines are there they wait for one that lets
// them go on, of 1, and for how long each time, ns. A goroutine is there from its first event to
// its last one; one that is never let go on does not count.
func (u *drippers) waitsFor(who int32) (part, each float64) {
	first, last, since := make([]int64, u.rec.Count), make([]int64, u.rec.Count), make([]int64, u.rec.Count)
	is := make([]bool, u.rec.Count)
	var waited, n int64
	for e := range u.rec.All() {
		if first[e.G] == 0 {
			first[e.G], since[e.G] = e.At, e.At
		}
		last[e.G] = e.At
		switch {
		case e.Kind == trace.EvWait:
			since[e.G] = e.At
		case e.Kind == trace.EvReady && e.By >= 0 && u.who[e.By] == who && u.drips(e):
			waited, n, is[e.G] = waited+e.At-since[e.G], n+1, true
		}
	}
	var there int64
	for g := range is {
		if is[g] {
			there += last[g] - first[g]
		}
	}
	return float64(waited) / float64(max(1, there)), float64(waited) / float64(max(1, n))
}

// of returns the dripper that a goroutine is, or is one of.
func (u *drippers) of(g int32) *dripper { return trace.Entry(u.all, u.who[g]) }

func (d *dripper) tick() {
	d.ticks++
	d.sent = false
}

// drip notes that a goroutine is let go on, by what may be for all. Before the first tick nothing
// counts: it is not known when the tick before was.
func (d *dripper) drip(g int32, closes bool) {
	if d.ticks == 0 {
		return
	}
	if !d.sent {
		d.dripping++
	}
	d.several = d.several || d.sent || closes
	d.sent = true
	d.drips = append(d.drips, g)
}

// InRequests returns which goroutines have spans or visit progress points.
func InRequests(r *trace.Recording) []bool {
	is := make([]bool, r.Count)
	for e := range r.All() {
		switch e.Kind {
		case trace.EvOpen, trace.EvClose, trace.EvVisit:
			is[e.G] = true
		}
	}
	return is
}

// dependOn returns the progress points that goroutines visit which were let go on, or which those
// have started or let go on in turn, other than by a lock, and how often all goroutines visit each.
// It is reachability in the graph of who let whom go on, over the whole window: too much, where
// work is handed on now and then, and so for bounds alone. Locks are left out, since who has had a
// lock before gives no work to who has it next.
func dependOn(p *model.Program, rec *trace.Recording, drips []int32) map[int32]int {
	type edge struct{ from, to int32 }
	after := map[int32][]int32{}
	seen := map[edge]bool{}
	waits := make([]int32, rec.Count) // sites
	visits := make([]int, len(p.Points))
	points := map[int32][]int32{}
	for e := range rec.All() {
		if point := p.VisitAt(e); point >= 0 {
			visits[point]++
			if x := (edge{e.G, ^point}); !seen[x] {
				seen[x] = true
				points[e.G] = append(points[e.G], point)
			}
		}
		switch e.Kind {
		case trace.EvExists, trace.EvWait:
			waits[e.G] = e.Site
		case trace.EvCreate, trace.EvReady:
			x := edge{e.By, e.G}
			if e.By < 0 || seen[x] || e.Kind == trace.EvReady && rec.Sites[waits[e.G]].Excludes() {
				continue
			}
			seen[x] = true
			after[e.By] = append(after[e.By], e.G)
		}
	}
	// What was let go on by a tick is where the search begins. A goroutine may be there several
	// times, and is looked at once.
	depend := map[int32]int{}
	reached := map[int32]bool{}
	pending := slices.Clone(drips)
	for len(pending) > 0 {
		g := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if reached[g] {
			continue
		}
		reached[g] = true
		for _, point := range points[g] {
			depend[point] = visits[point]
		}
		pending = append(pending, after[g]...)
	}
	return depend
}

// Unlimited has goroutines wait for tokens for as long as they did, as if there always were one
// when the wait is over. Nothing makes these waits shorter, see wakeUp in package model. It
// translates the recording anew.
func (b *Buckets) Unlimited(rec *trace.Recording, inferring bool) *model.Program {
	dripping := *rec
	dripping.Drippers = b.drippers
	return infer.NewProgram(&dripping, inferring)
}

// LeastGain is what a region must bring at least where waits for ticks are as long as they were,
// for these to become shorter. It is 0 but for rounding: what takes no part in the period leaves
// goroutines as late for a tick as before.
const LeastGain = 0.001
