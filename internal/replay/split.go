package replay

import "slices"

// Split cuts a recording into n windows of equal length, which are recordings of their own, as if each had been made alone:
// what an interval needs, where there is one recording. The windows share what never changes. With n below 2 it returns the
// recording itself.
func (r *Recording) Split(n int) []*Recording {
	if n < 2 || r.End-r.Start < int64(n) {
		return []*Recording{r}
	}
	s := splitter{of: r, state: make([]present, r.count), owner: make([]int32, len(r.spans))}
	windows := make([]*Recording, n)
	next := 0
	all := new(origin)
	for i := range windows {
		from, to := s.border(i, n), s.border(i+1, n)
		last := next
		for last < len(r.events) && (r.events[last].at < to || i == n-1) {
			last++
		}
		w := *r
		w.Start, w.End, w.Traced, w.origin = from, to, last-next, all
		w.events = append(s.begin(from), r.events[next:last]...)
		for ; next < last; next++ {
			r.restsAt(next)
			s.follow(&r.events[next])
		}
		windows[i] = &w
	}
	return windows
}

// An origin is what windows of one recording have in common.
type origin struct{ _ byte }

// A splitter follows the goroutines through the events, to find what there is where a window begins.
type splitter struct {
	of    *Recording
	state []present
	owner []int32 // of each span: the goroutine that it began on
}

// present is a goroutine at the border of two windows.
type present struct {
	known bool
	event event   // that describes it in the window: the first one is evExists
	open  []int32 // spans that began on it, the outermost first
}

func (s *splitter) border(i, n int) int64 {
	return s.of.Start + int64(float64(s.of.End-s.of.Start)*float64(i)/float64(n))
}

// begin returns the events that a window begins with: goroutines that there are, and the spans open on each.
func (s *splitter) begin(at int64) []event {
	var all []event
	for g := range s.state {
		p := &s.state[g]
		if !p.known {
			continue
		}
		p.event.at = at
		all = append(all, p.event)
	}
	for g := range s.state {
		for _, ref := range s.state[g].open {
			all = append(all, event{kind: evOpen, at: at, g: int32(g), by: noWaker, ref: ref})
		}
	}
	return all
}

func (s *splitter) follow(e *event) {
	p := &s.state[e.g]
	is := func(state int32) {
		p.known, p.event = true, event{kind: evExists, g: e.g, by: noWaker, arg: state, site: e.site}
	}
	switch e.kind {
	case evExists:
		is(e.arg)
	case evCreate, evReady, evYield:
		is(stateRunnable)
	case evStart, evReturn:
		is(stateRunning)
	case evWait:
		is(stateWaiting)
	case evSyscall:
		is(stateSyscall)
	case evEnd:
		*p = present{}
	case evOpen:
		p.open = append(p.open, e.ref)
		s.owner[e.ref] = e.g
	case evClose: // on the goroutine that it began on or another one
		p = &s.state[s.owner[e.ref]]
		if i := slices.Index(p.open, e.ref); i >= 0 {
			p.open = slices.Delete(p.open, i, i+1)
		}
	}
}
