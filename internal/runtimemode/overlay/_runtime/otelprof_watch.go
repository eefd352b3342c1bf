package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// How long a goroutine runs, waits for a P and is blocked is kept while it is watched: while one
// of its timed spans is open. A system call is part of running.
//
// The numbers may be touched by all that may touch the ledger, see otelprofEpoch. Only
// watches may be changed by any goroutine, for a span can end on another one.

// otelprofOn is what the hooks look at first. The lower bits count the goroutines that are watched,
// otelprofInForce is set while there is an experiment; one that its budget has ended leaves it to
// otelprofStop; otelprofServing is set while requests have accounts. A goroutine is counted by
// itself, while it runs, so the one that changes its status later sees that: its status was changed
// by atomic operations in between.
var otelprofOn uint32

const (
	otelprofInForce = 1 << 31
	otelprofServing = 1 << 30
)

// otelprofWatched is what a goroutine has been doing while it was watched. Sums are never set back.
type otelprofWatched struct {
	// watches holds how many are open in its low bits, above them how many goroutines with open
	// ones have ended here: records of g are used again.
	watches atomic.Uint32

	stops    uint64 // how often it stopped running
	since    int64  // when it stopped or became runnable
	runnable int64  // ns
	blocked  int64  // ns
}

const (
	otelprofWatchBits = 16
	otelprofWatchMask = 1<<otelprofWatchBits - 1
)

// otelprofBeginWatch begins to watch the calling goroutine, and returns what otelprofEndWatch wants
// to know, and the time and the sums now. If the goroutine is watched too often, gp is nil.
//
//go:linkname otelprofBeginWatch
func otelprofBeginWatch() (gp unsafe.Pointer, goid uint64, life uint32, now, runnable, blocked int64, stops uint64) {
	me := getg()
	systemstack(func() {
		o := &me.otelprof.watched
		for {
			word := o.watches.Load()
			open := word & otelprofWatchMask
			if open == otelprofWatchMask {
				return
			}
			if !o.watches.CompareAndSwap(word, word+1) {
				continue // another goroutine has ended one
			}
			if open == 0 {
				atomic.Xadd(&otelprofOn, 1)
			}
			gp, goid, life = unsafe.Pointer(me), me.goid, word>>otelprofWatchBits
			now, runnable, blocked, stops = nanotime(), o.runnable, o.blocked, o.stops
			return
		}
	})
	return gp, goid, life, now, runnable, blocked, stops
}

// otelprofEndWatch ends a watch, which must be done once, and returns the time and the sums now.
// Only on the goroutine that began it, ok is true.
//
//go:linkname otelprofEndWatch
func otelprofEndWatch(gp unsafe.Pointer, goid uint64, life uint32) (now, runnable, blocked int64, stops uint64, ok bool) {
	me := getg()
	systemstack(func() {
		// A g is never freed, so it can be looked at. If another goroutine uses it by now, the
		// watch ended with the one before.
		gp := (*g)(gp)
		if gp.goid != goid {
			return
		}
		o := &gp.otelprof.watched
		if ok = o.release(life) && gp == me; ok {
			now, runnable, blocked, stops = nanotime(), o.runnable, o.blocked, o.stops
		}
	})
	return now, runnable, blocked, stops, ok
}

// otelprofWatching returns how many goroutines are watched.
//
//go:linkname otelprofWatching
func otelprofWatching() uint32 {
	return atomic.Load(&otelprofOn) &^ (otelprofInForce | otelprofServing)
}

// release ends one watch of a life, and reports whether there was one.
func (o *otelprofWatched) release(life uint32) bool {
	for {
		word := o.watches.Load()
		if word>>otelprofWatchBits != life || word&otelprofWatchMask == 0 {
			return false
		}
		if o.watches.CompareAndSwap(word, word-1) {
			if word&otelprofWatchMask == 1 {
				atomic.Xadd(&otelprofOn, -1)
			}
			return true
		}
	}
}

// die ends all watches: the next user of the record has none of them.
func (o *otelprofWatched) die() {
	for {
		word := o.watches.Load()
		if word&otelprofWatchMask == 0 {
			return
		}
		if o.watches.CompareAndSwap(word, (word>>otelprofWatchBits+1)<<otelprofWatchBits) {
			atomic.Xadd(&otelprofOn, -1)
			return
		}
	}
}

// open reports whether the goroutine is watched.
//
//go:nosplit
func (o *otelprofWatched) open() bool { return o.watches.Load()&otelprofWatchMask != 0 }

// otelprofBook books a change of status that otelprofSees. What an experiment delays a goroutine by
// before it runs is time in which it is runnable.
//
//go:nowritebarrierrec
func otelprofBook(gp *g, before, after uint32) {
	o := &gp.otelprof.watched
	switch before {
	case _Grunning, _Gsyscall:
		switch {
		case after == _Gwaiting && gp.waitreason.isWaitingForSuspendG():
			// It works for the garbage collector, on its own thread.
		case after == _Gwaiting || after == _Grunnable:
			o.stop()
		default:
			o.die()
		}
	case _Gwaiting:
		// A goroutine preempted for the garbage collector has been able to run all the time.
		if gp.waitreason != waitReasonPreempted {
			now := nanotime()
			o.blocked += now - o.since
			o.since = now
		}
	case _Grunnable:
		o.runnable += nanotime() - o.since
	case _Gdeadextra:
		o.die()
	}
}

func (o *otelprofWatched) stop() {
	o.stops++
	o.since = nanotime()
}

// otelprofPreempted is called, on the system stack, when gp is about to stop for the garbage
// collector. No other hook sees that.
//
//go:nowritebarrierrec
func otelprofPreempted(gp *g) {
	if gp.otelprof.watched.open() {
		gp.otelprof.watched.stop()
	}
}
