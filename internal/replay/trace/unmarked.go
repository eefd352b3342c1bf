package trace

import (
	"slices"
)

// leastMarked is which part of a window, of 1, marks must be in, for it to begin with them. Where
// they begin later the window stays whole: marks are then rare in the program, or began in the
// middle, and more than a twentieth of the recording is not given up for them.
const leastMarked = 0.95

// skipUnmarked has the window begin with its first mark, at a time, 0 for none: a trace is on for a
// while before marks are written to it, and what goroutines did on locks and channels until then is
// not known. In a replay a lock that was taken without a mark would be given back by a goroutine
// that never took it. Of that time only the state is kept that it left behind:
//
//	trace on        first mark
//	|--------------------|------------------------------------------|
//	 g1 starts, g2 waits  exists g1, running; exists g2, waiting at its site for its reason
//
// Spans and regions that opened before are not among what is kept: span marks are marks, and
// regions of runtime/trace that are open then have only their ends. It writes over events that are
// left out, in place, and changes Start and Events.
func (r *Recording) skipUnmarked(mark int64) {
	if mark < r.Start || float64(r.End-mark) < leastMarked*float64(r.End-r.Start) {
		return
	}
	r.Start = mark
	first := slices.IndexFunc(r.Events, func(e Event) bool { return e.At >= mark })
	if first < 0 {
		return
	}
	// A mark of what was let go on stands behind that of what let it go on, which is then missing:
	// a receive without its send. It was done, for the giver, too, before.
	if e := &r.Events[first]; e.Kind == EvOperate && Acquires(e.What) {
		first++
	}
	// A goroutine's last change of state is what holds at the first mark. One that has had marks
	// alone runs, which is state 0.
	state := make([]Event, r.Count)
	for i := range r.Events[:first] {
		e := &r.Events[i]
		s := &state[e.G]
		s.Kind, s.G, s.By, s.At = EvExists, e.G, NoWaker, r.Start
		switch e.Kind {
		case EvExists:
			s.Arg = e.Arg
		case EvCreate, EvReady, EvYield:
			s.Arg = StateRunnable
		case EvStart, EvReturn:
			s.Arg = StateRunning
		case EvSyscall, EvIdle:
			s.Arg = StateSyscall
		case EvWait:
			s.Arg, s.Site, s.Ref = StateWaiting, e.Site, e.Arg
		case EvEnd:
			s.Kind = 0
		}
	}
	// Goroutines that have ended, or have had no event yet, are not there. Each of the others has
	// had one at least, so that there is room for its state before the first mark.
	state = slices.DeleteFunc(state, func(e Event) bool { return e.Kind == 0 })
	r.Events = r.Events[first-len(state):]
	copy(r.Events, state)
}
