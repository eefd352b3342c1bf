package replay

import (
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Goroutines that take turns at a processor hardly ever meet at a lock: a stock trace has no waits
// for it, which they would have on more processors. What it does show is how long goroutines waited
// for locks while others computed at the same time, and whether any had to wait for one that had
// lost its processor. From that follows which part of what they compute may be under one lock, and
// so how much can be done at a time: with a part s of the computing under one lock, no more than
// 1/s processors have something to do (Amdahl, 1967). With s = 0.1, twice two processors may bring
// all of their half; with s = 0.4 at least a fifth, from 2 to the 2.5 of the lock.
//
// Evidence on several processors. A goroutine comes to the lock s/h times in its computing, h being
// how long one holds it. It finds the lock taken by one of the other n-1 with a chance of (n-1)s,
// and then waits for h/2. So it waits for w = (n-1)s²/2 of its computing, and s = sqrt(2w/(n-1)).
//
// Evidence on one processor. A goroutine waits only where another one has lost its processor within
// the lock. If none has waited in n such losses, fewer than 3/n of the computing is under a lock,
// but for one case in 20 (rule of three). TestSharing has both.
//
// It assumes one lock for all, held as long each time, by goroutines that come independently.
// Several locks leave more room than this bound. A goroutine that gives its processor up by itself
// (runtime.Gosched) does so outside of its locks, mostly. It counts as a loss all the same, and has
// the bound too high.

const (
	// leastTogether is which part of the time that goroutines of requests run others of them must,
	// too, for their waits to be evidence. Where they hardly do, they hardly meet, whatever is
	// under a lock; the bound is then as if all were.
	leastTogether = 0.1
	// leastUnmet is which part of that time goroutines may wait without a trace of it, since they
	// look at a lock for a while before: sync.Mutex spins four times 30 pauses of the processor
	// (internal_sync_runtime_canSpin of runtime/proc.go) before it has the goroutine wait. With no
	// wait at all on two processors it leaves s = sqrt(2*0.0005) = 0.03.
	leastUnmet = 0.0005
	// leastHeld is how often goroutines may have lost their processors while they had a lock, if no
	// other then waited for it: once in 20 cases, -ln(0.05) as a count of chances.
	leastHeld = 3.0
)

// A sharing is what a stock recording shows of locks. Each is a part of 1.
type sharing struct {
	serial float64 // which part of what goroutines of requests compute may be under one, at most 1
	waits  float64 // which part of their time they wait for locks
	busy   float64 // which part of the processors' time they compute
	others float64 // which part of it other goroutines do
}

// sharingIn returns what the recording shows of locks. Without evidence all may be under one. It
// takes one pass through the events.
func sharingIn(r *trace.Recording) sharing {
	// A wait without a stack may be for a lock.
	locks := trace.BySite(r.Sites, func(s trace.Site) bool { return len(s.Frames) == 0 || s.Excludes() })
	w := crossings{requests: doubt.InRequests(r), locks: locks, runs: slices.Repeat([]int64{-1}, int(r.Count)), waits: make([]*trace.Event, r.Count), last: r.Start}
	for e := range r.All() {
		w.event(e)
	}
	w.pass(r.End)
	// Busy counts goroutines of requests alone: others do not come with more of these.
	ran, all := float64(max(1, w.ran)), float64(max(1, r.End-r.Start))*float64(max(1, r.Procs))
	s := sharing{serial: 1, waits: float64(w.waited) / (ran + float64(w.waited)), busy: min(1, ran/all)}
	s.others = min(1-s.busy, float64(w.beside)/all)
	switch {
	case r.Procs > 1 && float64(w.together) >= leastTogether*ran:
		// One that comes to a lock finds it taken by any of the others, and then waits for half of
		// the time that it is held.
		s.serial = min(1, math.Sqrt(2*(float64(w.held)/ran+leastUnmet)/float64(r.Procs-1)))
	case w.waited == 0 && w.lost > 0:
		s.serial = min(1, leastHeld/float64(w.lost))
	}
	return s
}

// crossings add up what goroutines of requests do: their runs, and their waits for locks. Times are
// ns, summed over goroutines.
type crossings struct {
	requests, locks []bool         // by goroutine, by site
	runs            []int64        // by goroutine: since when, -1 if it does not
	waits           []*trace.Event // by goroutine: for a lock
	served, others  int64          // how many run, of requests and not
	last            int64          // since when, ns
	ran, together   int64          // all of their time, and that in which others of them ran, too
	beside          int64          // that of goroutines of no requests
	waited          int64
	held            int64 // of that, while the goroutine ran that gave the lock back
	lost            int   // processors
}

// event takes in the next event. Of others than those of requests only the time counts, also where
// they give a lock back: then that wait is no evidence of how requests meet.
func (w *crossings) event(e *trace.Event) {
	w.pass(e.At)
	switch e.Kind {
	case trace.EvStart, trace.EvReturn:
		w.run(e.G, e.At)
	case trace.EvExists:
		if e.Arg == trace.StateRunning {
			w.run(e.G, e.At)
		}
	case trace.EvYield: // its slice was over, mostly
		if w.requests[e.G] {
			w.lost++
		}
		w.rest(e.G)
	case trace.EvSyscall, trace.EvEnd, trace.EvIdle:
		w.rest(e.G)
	case trace.EvWait:
		w.rest(e.G)
		w.waits[e.G] = nil
		if w.requests[e.G] && w.locks[e.Site] {
			w.waits[e.G] = e
		}
	case trace.EvReady:
		// As long as the goroutine ran that gave the lock back, the two met. Before that it had no
		// processor, or did something else: more processors would spare that part of the wait.
		if began := w.waits[e.G]; began != nil && e.By >= 0 {
			w.waited += e.At - began.At
			if since := w.runs[e.By]; since >= 0 && w.requests[e.By] {
				w.held += e.At - max(since, began.At)
			}
		}
		w.waits[e.G] = nil
	}
}

// pass lets time pass with as many goroutines running as do, until the next event.
func (w *crossings) pass(at int64) {
	passed := w.served * (at - w.last)
	w.beside += w.others * (at - w.last)
	w.last = at
	w.ran += passed
	if w.served > 1 {
		w.together += passed
	}
}

// run has a goroutine run, rest has it stop. A trace may have either twice, as where a window
// begins.
func (w *crossings) run(g int32, at int64) {
	if w.runs[g] < 0 {
		w.runs[g] = at
		*w.running(g)++
	}
}

func (w *crossings) rest(g int32) {
	if w.runs[g] >= 0 {
		w.runs[g] = -1
		*w.running(g)--
	}
}

// running is the count of running goroutines that g is one of.
func (w *crossings) running(g int32) *int64 {
	if w.requests[g] {
		return &w.served
	}
	return &w.others
}

// scale bounds what more processors bring: from below by locks that goroutines may have, and from
// above by waits that there may be no more, as far as that number of processors allows. From and to
// are numbers of processors, the second above the first. Samples must be there already, and only
// bounds are changed.
func (w *window) scale(q question, from, to int, s sharing) {
	for _, m := range []Metric{Throughput, LatencyP50, LatencyP90, LatencyP99} {
		q.metric = m
		x, ok := w.effects[q]
		if !ok || math.IsNaN(x.reduction()) {
			continue
		}
		// Amdahl's law. A visit computes c, s of that under the lock: its period is c/from now, and
		// s*c at least.
		known := x.reduction()
		if least := max(0, 1-s.serial*float64(from)); least < known {
			lower(&x.least, least)
		}
		// What is computed takes from/to of its time at best, and has processors that others had.
		// It is as much of the period as processors are busy.
		most := s.busy*(1-float64(from)/float64(to)) + s.others
		if s.serial < 1 || s.waits == 0 { // else goroutines have locks in the order in which they had the processor
			most = min(most, known+s.waits)
		}
		if most > known {
			raise(&x.most, most)
		}
		w.effects[q] = x
	}
}
