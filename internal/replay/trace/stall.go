package trace

import (
	"slices"
)

// A stall is a time in which the whole program stood still: goroutines ran, as far as the recording
// shows, but nothing happened, not even that the runtime's monitor took a processor from one that
// had computed for long. The machine gave it no processor: the host of a virtual machine, a quota,
// other programs, or the trace itself when it began another generation of events. No goroutine did
// anything then (steal time), so that this time belongs to no goroutine, though it is recorded as
// computing of goroutines that ran:
//
//	events   | || |  | ||  |                           | |  ||  |
//	                       |-------- 80 ms -------------|
//	g1       #######running###############################waits
//
// If g1 was in a span, the span would seem to take those 80 ms, and making it faster to bring more
// than it does. Without them the recording is shorter by 80 ms at once, for all goroutines.
//
// The principle: Go's monitor preempts whatever computes. sysmon sleeps for 10 ms at most, and
// retake preempts what has run for forcePreemptNS, 10 ms, since it looked first (runtime/proc.go).
// So with a processor there are events each 20 to 30 ms at the latest while any goroutine runs.
//
// It is wrong where the runtime cannot preempt: a single long call of an assembly function (copying
// or hashing hundreds of MB), or GODEBUG=asyncpreemptoff=1. So stalls must also be rare, and far
// longer than what is usual in this program; and package replay takes time away only if the whole
// recording, simulated with nothing changed, does not come out as it was (package replay,
// reading.go).
// TestStalls holds both: one pause of 101 ms is found, operations of 100 ms each are not.

const (
	// leastStall is how long nothing must have happened, ns: the most that the monitor takes to
	// find and preempt a goroutine that computes, see above.
	leastStall = 30_000_000
	// stallGaps is how many times as long it is as all but one in a hundred of the times between
	// events while goroutines ran. With fewer than 101 such times the longest one is what is usual,
	// and there are no stalls. With a smaller factor long computations would be taken for stalls.
	stallGaps = 20
	// mostStalls is how many there may be in a second: more are what the program does. A window of
	// less than a third of a second has none, since one is already more.
	mostStalls = 3
)

// Stalls returns the times in which the program stood still, each from one event to the next, in
// order; nil if there are none. Time in which no goroutine ran is none, as the program waits then:
// for timers, the network, or in system calls.
func (r *Recording) Stalls() []Interval {
	on := make([]bool, r.Count)
	running := 0
	var all []int64
	var long []Interval
	last := r.Start
	for e := range r.All() {
		// What ran before this event ran since the one before.
		if d := e.At - last; d > 0 && running > 0 {
			all = append(all, d)
			if d >= leastStall {
				long = append(long, Interval{last, e.At})
			}
		}
		last = max(last, e.At)
		if runs, known := e.Runs(); known && runs != on[e.G] {
			if on[e.G] = runs; runs {
				running++
			} else {
				running--
			}
		}
	}
	if len(long) == 0 || float64(len(long)) > mostStalls*float64(r.End-r.Start)/1e9 {
		return nil
	}
	usual := Nth(all, len(all)*99/100)
	return slices.DeleteFunc(long, func(g Interval) bool { return g.To-g.From < stallGaps*usual })
}

// Moving returns the recording without the time in which the program stood still, nil if there is
// none.
func (r *Recording) Moving() *Recording {
	gaps := r.Stalls()
	if len(gaps) == 0 {
		return nil
	}
	return r.without(gaps)
}

// without returns the recording as if some of its time had not passed: each event comes earlier by
// the sum of the gaps before it, which are in order. It copies the events, and shares all else.
// Waits for timers that ended meanwhile become shorter than the program asked for; stalls are rare.
func (r *Recording) without(gaps []Interval) *Recording {
	w := *r
	w.Events = slices.Clone(r.Events)
	var less int64
	next := 0
	for e := range w.All() {
		for next < len(gaps) && gaps[next].To <= e.At {
			less += gaps[next].To - gaps[next].From
			next++
		}
		e.At -= less
	}
	for ; next < len(gaps); next++ {
		less += gaps[next].To - gaps[next].From
	}
	w.End -= less
	// The time that is left out was without a processor: what goroutines ran is less, and the CPU
	// time behind it the same. What is left is less starved.
	if w.Starved > 0 {
		w.Starved = starved(int64((1-w.Starved)*float64(r.running())), w.running())
	}
	return &w
}
