//go:build otelprof_runtime

// Package sched passes regions to Go's scheduler, in programs that were built by "otelprof build":
// it hands delays over from goroutine to goroutine, along each happens-before edge that the
// scheduler sees, and inserts what they owe. The work is done in
// internal/runtimemode/overlay/_runtime.
//
// In other programs nothing is there, see [Present], and all functions do nothing.
package sched

import (
	"math"
	"time"
	"unsafe"
)

// Present reports whether the scheduler takes part.
const Present = true

// The functions of package runtime are declared without a body, for which the compiler wants an
// assembly file in the package.

//go:linkname runtimeStart runtime.otelprofStart
func runtimeStart(speedupPermille, longest, perSpan, perTrace, duty, budget int64)

//go:linkname runtimeStop runtime.otelprofStop
func runtimeStop()

//go:linkname runtimeGrowth runtime.otelprofGrowth
func runtimeGrowth() (growth int64, inForce bool)

//go:linkname runtimeCounts runtime.otelprofCounts
func runtimeCounts() (paid, slept, delays, spent, points, left, foreign int64)

//go:linkname runtimeEnter runtime.otelprofEnter
func runtimeEnter() (gp unsafe.Pointer, goid uint64, epoch uint32)

//go:linkname runtimeLeave runtime.otelprofLeave
func runtimeLeave(gp unsafe.Pointer, goid uint64, epoch uint32)

//go:linkname runtimePoint runtime.otelprofPoint
func runtimePoint() (paid int64)

//go:linkname runtimeBooks runtime.otelprofBooks
func runtimeBooks() (credit, spent int64)

//go:linkname runtimeExempt runtime.otelprofExempt
func runtimeExempt() (gp unsafe.Pointer, goid uint64)

//go:linkname runtimePayAgain runtime.otelprofPayAgain
func runtimePayAgain(gp unsafe.Pointer, goid uint64)

//go:linkname runtimeBeginWatch runtime.otelprofBeginWatch
func runtimeBeginWatch() (gp unsafe.Pointer, goid uint64, life uint32, now, runnable, blocked int64, stops uint64)

//go:linkname runtimeEndWatch runtime.otelprofEndWatch
func runtimeEndWatch(gp unsafe.Pointer, goid uint64, life uint32) (now, runnable, blocked int64, stops uint64, ok bool)

//go:linkname runtimeWatching runtime.otelprofWatching
func runtimeWatching() uint32

// Start begins an experiment: all other goroutines are delayed by what the region would save if it
// took speedup less of its time, in [0, 1], within limits. Calls of Start must not overlap.
func Start(speedup float64, l Limits) {
	runtimeStart(int64(math.Round(1000*speedup)), int64(min(l.Longest, l.PerSpan)), int64(l.PerSpan), int64(l.PerTrace), int64(l.Duty), int64(l.Total))
}

// Stop ends the experiment. Delays in flight end within microseconds, sleeps that were made longer
// within 5 ms.
func Stop() { runtimeStop() }

// Growth returns what the region of the latest experiment would have saved the program by now, and
// whether that experiment is in force.
func Growth() (growth time.Duration, inForce bool) {
	g, ok := runtimeGrowth()
	return time.Duration(g), ok
}

// Read returns the counters of the latest experiment.
func Read() Counts {
	paid, slept, delays, spent, points, left, foreign := runtimeCounts()
	return Counts{time.Duration(paid), time.Duration(slept), delays, time.Duration(spent), points, time.Duration(left), foreign}
}

// A Visit is a span of the region in one experiment, on the goroutine that began it.
type Visit struct {
	gp    unsafe.Pointer // the runtime never frees it
	goid  uint64
	epoch uint32
}

// Enter begins the region on the calling goroutine.
func Enter() Visit {
	gp, goid, epoch := runtimeEnter()
	return Visit{gp, goid, epoch}
}

// Leave ends the region, unless the experiment is over. Any goroutine may call it; another one's
// call counts when the scheduler next has to do with the one that entered.
func (v Visit) Leave() {
	if v.gp != nil {
		runtimeLeave(v.gp, v.goid, v.epoch)
	}
}

// Point pays what the calling goroutine owes, unless it is in the region, and returns how long that
// took.
func Point() (paid time.Duration) { return time.Duration(runtimePoint()) }

// Books returns by how much the calling goroutine would be ahead in this experiment, and by how
// much it has been delayed.
func Books() (credit, spent time.Duration) {
	c, s := runtimeBooks()
	return time.Duration(c), time.Duration(s)
}

// Exempt lets the calling goroutine pay nothing until the function that it returns is called there,
// or until the next experiment, if another goroutine calls it. It must be called once.
func Exempt() (end func()) {
	gp, goid := runtimeExempt()
	return func() { runtimePayAgain(gp, goid) }
}

// A Watch has the scheduler keep account of one goroutine, from Begin to End. The zero Watch has
// not begun. Methods must not be called at the same time.
type Watch struct {
	gp   unsafe.Pointer // as in Visit
	goid uint64
	life uint32

	began, runnable, blocked int64
	stops                    uint64
}

// Begin begins to watch the calling goroutine. Watches of a goroutine may nest and overlap.
func (w *Watch) Begin() {
	w.gp, w.goid, w.life, w.began, w.runnable, w.blocked, w.stops = runtimeBeginWatch()
}

// End ends the watch and returns what its goroutine has been doing since Begin. The times add up to
// what has passed. It must be called once. Another goroutine may do that, also when the one that
// began has ended; then there are no times and ok is false. It also is if the goroutine had 65535
// watches already when it began.
func (w *Watch) End() (t Times, ok bool) {
	if w.gp == nil {
		return Times{}, false
	}
	now, runnable, blocked, stops, ok := runtimeEndWatch(w.gp, w.goid, w.life)
	if !ok {
		return Times{}, false
	}
	runnable, blocked = runnable-w.runnable, blocked-w.blocked
	return Times{time.Duration(now - w.began - runnable - blocked), time.Duration(runnable), time.Duration(blocked), stops - w.stops}, true
}

// Watching returns how many goroutines are watched now.
func Watching() int { return int(runtimeWatching()) }
