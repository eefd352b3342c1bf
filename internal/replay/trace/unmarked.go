package trace

import (
	"slices"
)

// leastMarked is which part of a window marks must be in, for it to begin with them.
const leastMarked = 0.95

// skipUnmarked has the window begin with its first mark: a trace is on for a while before marks are
// written to it, and what goroutines did on locks and channels until then is not known. Of that
// time only the state is kept that it left behind.
func (r *Recording) skipUnmarked(mark int64) {
	if mark < r.Start || float64(r.End-mark) < leastMarked*float64(r.End-r.Start) {
		return
	}
	r.Start = mark
	first := slices.IndexFunc(r.Events, func(e Event) bool { return e.At >= mark })
	if first < 0 {
		return
	}
	if e := &r.Events[first]; e.Kind == EvOperate && Acquires(e.What) { // it was done, for the giver, too, before
		first++
	}
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
		case EvSyscall:
			s.Arg = StateSyscall
		case EvWait:
			s.Arg, s.Site, s.Ref = StateWaiting, e.Site, e.Arg
		case EvEnd:
			s.Kind = 0
		}
	}
	state = slices.DeleteFunc(state, func(e Event) bool { return e.Kind == 0 })
	r.Events = r.Events[first-len(state):] // each of these has had an event
	copy(r.Events, state)
}
