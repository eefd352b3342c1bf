package trace

import (
	"slices"
)

// A stall is a time in which the whole program stood still: goroutines ran, as far as the recording
// shows, but nothing happened, not even that the runtime's monitor took a processor from one that
// had computed for long. The machine gave it no processor: the host of a virtual machine, a quota,
// other programs, or the trace itself when it began another generation of events. No goroutine did
// anything then (steal time), so that this time belongs to no goroutine, though it is recorded as
// computing of goroutines that ran.

const (
	// leastStall is how long nothing must have happened, ns: twice what the monitor takes to find a
	// goroutine that computes.
	leastStall = 30_000_000
	// stallGaps is by how much that is longer than all but one in a hundred of the times between
	// events while goroutines ran.
	stallGaps = 20
	// mostStalls is how many there may be in a second: more are what the program does.
	mostStalls = 3
)

// A Standstill is from one event to the next.
type Standstill struct{ From, To int64 }

// Stalls returns the times in which the program stood still, in order.
func (r *Recording) Stalls() []Standstill {
	on := make([]bool, r.Count)
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
	var long []Standstill
	last := r.Start
	for i := range r.Events {
		r.RestsAt(i)
		e := &r.Events[i]
		if d := e.At - last; d > 0 && running > 0 {
			all = append(all, d)
			if d >= leastStall {
				long = append(long, Standstill{last, e.At})
			}
		}
		last = max(last, e.At)
		switch e.Kind {
		case EvExists:
			set(e.G, e.Arg == StateRunning)
		case EvStart, EvReturn:
			set(e.G, true)
		case EvYield, EvWait, EvSyscall, EvEnd:
			set(e.G, false)
		}
	}
	if len(long) == 0 || float64(len(long)) > mostStalls*float64(r.End-r.Start)/1e9 {
		return nil
	}
	usual := Nth(all, len(all)*99/100)
	return slices.DeleteFunc(long, func(g Standstill) bool { return g.To-g.From < stallGaps*usual })
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

// without returns the recording as if some of its time had not passed.
func (r *Recording) without(gaps []Standstill) *Recording {
	w := *r
	w.Events = slices.Clone(r.Events)
	var less int64
	next := 0
	for i := range w.Events {
		r.RestsAt(i)
		for next < len(gaps) && gaps[next].To <= w.Events[i].At {
			less += gaps[next].To - gaps[next].From
			next++
		}
		w.Events[i].At -= less
	}
	for ; next < len(gaps); next++ {
		less += gaps[next].To - gaps[next].From
	}
	w.End -= less
	if w.Starved > 0 { // the program had no processor then
		w.Starved = starved(int64((1-w.Starved)*float64(r.running())), w.running())
	}
	return &w
}
