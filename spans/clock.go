package spans

import (
	"sync/atomic"
	"time"
)

// epoch is where the nanosecond time line of all spans begins. It carries a monotonic
// reading, so that differences to it do not jump with the wall clock.
var epoch = time.Now()

// wallBase is what the wall clock showed when it had last been set, as far as is known: the epoch,
// or a later time.
var wallBase atomic.Pointer[time.Time]

func init() { wallBase.Store(&epoch) }

// now is the time since epoch in nanoseconds. About 30 ns.
func now() int64 { return int64(time.Since(epoch)) }

// sinceEpoch puts a time on the same line. Times without a monotonic reading, which
// callers give by trace.WithTimestamp, are placed by the wall clock as it is now.
func sinceEpoch(t time.Time) int64 {
	if t != t.Round(0) {
		return int64(t.Sub(epoch))
	}
	b := onWall()
	return int64(t.Sub(b)) + int64(b.Sub(epoch))
}

// wallTime is the opposite of sinceEpoch.
func wallTime(at int64) time.Time {
	b := onWall()
	return b.Add(time.Duration(at) - b.Sub(epoch))
}

// leastStep is by how much the wall clock must be off to have been set. The two clocks are not read
// at the same moment, and times that are given are to stay exact as long as it is not.
const leastStep = time.Millisecond

// onWall returns a time for which wall clock and line agree as they do now. The wall clock may be
// set while a program runs, most of all when its machine has been suspended.
func onWall() time.Time {
	b := *wallBase.Load()
	n := time.Now()
	if !wasSet(b, n) {
		return b
	}
	if again := time.Now(); !wasSet(n, again) { // else it was not the clock, but a break between two readings
		wallBase.Store(&again)
		return again
	}
	return b
}

// wasSet reports whether the wall clock was set between two times.
func wasSet(from, to time.Time) bool {
	off := to.Round(0).Sub(from) - to.Sub(from)
	return off.Abs() >= leastStep
}
