package replay

import "slices"

// leastMarked is which part of a window marks must be in, for it to begin with them.
const leastMarked = 0.95

// skipUnmarked has the window begin with its first mark: a trace is on for a while before marks are written to it, and what
// goroutines did on locks and channels until then is not known. Of that time only the state is kept that it left behind.
func (r *Recording) skipUnmarked(mark int64) {
	if mark < r.Start || float64(r.End-mark) < leastMarked*float64(r.End-r.Start) {
		return
	}
	r.Start = mark
	first := slices.IndexFunc(r.events, func(e event) bool { return e.at >= mark })
	if first < 0 {
		return
	}
	if e := &r.events[first]; e.kind == evOperate && acquires(e.what) { // it was done, for the giver, too, before
		first++
	}
	state := make([]event, r.count)
	for i := range r.events[:first] {
		e := &r.events[i]
		s := &state[e.g]
		s.kind, s.g, s.by, s.at = evExists, e.g, noWaker, r.Start
		switch e.kind {
		case evExists:
			s.arg = e.arg
		case evCreate, evReady, evYield:
			s.arg = stateRunnable
		case evStart, evReturn:
			s.arg = stateRunning
		case evSyscall:
			s.arg = stateSyscall
		case evWait:
			s.arg, s.site, s.ref = stateWaiting, e.site, e.arg
		case evEnd:
			s.kind = 0
		}
	}
	state = slices.DeleteFunc(state, func(e event) bool { return e.kind == 0 })
	r.events = r.events[first-len(state):] // each of these has had an event
	copy(r.events, state)
}
