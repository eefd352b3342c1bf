package replay

import "slices"

// A stall is a time in which the whole program stood still: goroutines ran, as far as the recording shows, but nothing happened, not
// even that the runtime's monitor took a processor from one that had computed for long. The machine gave it no processor: the host of
// a virtual machine, a quota, other programs, or the trace itself when it began another generation of events. No goroutine did
// anything then (steal time), so that this time belongs to no goroutine, though it is recorded as computing of goroutines that ran.

const (
	// leastStall is how long nothing must have happened, ns: twice what the monitor takes to find a goroutine that computes.
	leastStall = 30_000_000
	// stallGaps is by how much that is longer than all but one in a hundred of the times between events while goroutines ran.
	stallGaps = 20
	// mostStalls is how many there may be in a second: more are what the program does.
	mostStalls = 3
)

// A standstill is from one event to the next.
type standstill struct{ from, to int64 }

// stalls returns the times in which the program stood still, in order.
func (r *Recording) stalls() []standstill {
	on := make([]bool, r.count)
	running := 0
	set := func(g int32, now bool) {
		switch {
		case now && !on[g]:
			running++
		case !now && on[g]:
			running--
		}
		on[g] = now
	}
	var all []int64
	var long []standstill
	last := r.Start
	for i := range r.events {
		r.restsAt(i)
		e := &r.events[i]
		if d := e.at - last; d > 0 && running > 0 {
			all = append(all, d)
			if d >= leastStall {
				long = append(long, standstill{last, e.at})
			}
		}
		last = max(last, e.at)
		switch e.kind {
		case evExists:
			set(e.g, e.arg == stateRunning)
		case evStart, evReturn:
			set(e.g, true)
		case evYield, evWait, evSyscall, evEnd:
			set(e.g, false)
		}
	}
	if len(long) == 0 || float64(len(long)) > mostStalls*float64(r.End-r.Start)/1e9 {
		return nil
	}
	usual := nth(all, len(all)*99/100)
	return slices.DeleteFunc(long, func(g standstill) bool { return g.to-g.from < stallGaps*usual })
}

// moving returns the recording without the time in which the program stood still, nil if there is none.
func (r *Recording) moving() *Recording {
	gaps := r.stalls()
	if len(gaps) == 0 {
		return nil
	}
	return r.without(gaps)
}

// without returns the recording as if some of its time had not passed.
func (r *Recording) without(gaps []standstill) *Recording {
	w := *r
	w.events = slices.Clone(r.events)
	var less int64
	next := 0
	for i := range w.events {
		r.restsAt(i)
		for next < len(gaps) && gaps[next].to <= w.events[i].at {
			less += gaps[next].to - gaps[next].from
			next++
		}
		w.events[i].at -= less
	}
	for ; next < len(gaps); next++ {
		less += gaps[next].to - gaps[next].from
	}
	w.End -= less
	if w.starved > 0 { // the program had no processor then
		w.starved = starved(int64((1-w.starved)*float64(r.running())), w.running())
	}
	return &w
}
