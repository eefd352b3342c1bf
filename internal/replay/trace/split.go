package trace

import (
	"slices"
)

// Split cuts a recording into n windows of equal length, which are recordings of their own, as if
// each had been made alone: what an interval needs, where there is one recording. The windows share
// what never changes. With n below 2 it returns the recording itself.
func (r *Recording) Split(n int) []*Recording {
	if n < 2 || r.End-r.Start < int64(n) {
		return []*Recording{r}
	}
	s := splitter{of: r, state: make([]present, r.Count), owner: make([]int32, len(r.Spans))}
	windows := make([]*Recording, n)
	next := 0
	all := new(Origin)
	for i := range windows {
		from, to := s.border(i, n), s.border(i+1, n)
		last := next
		for last < len(r.Events) && (r.Events[last].At < to || i == n-1) {
			last++
		}
		w := *r
		w.Start, w.End, w.Traced, w.Origin = from, to, last-next, all
		w.Events = append(s.begin(from), r.Events[next:last]...)
		for ; next < last; next++ {
			r.RestsAt(next)
			s.follow(&r.Events[next])
		}
		windows[i] = &w
	}
	return windows
}

// An Origin is what windows of one recording have in common.
type Origin struct{ _ byte }

// A splitter follows the goroutines through the events, to find what there is where a window
// begins.
type splitter struct {
	of    *Recording
	state []present
	owner []int32 // of each span: the goroutine that it began on
}

// present is a goroutine at the border of two windows.
type present struct {
	known bool
	event Event   // that describes it in the window: the first one is EvExists
	open  []int32 // spans that began on it, the outermost first
}

func (s *splitter) border(i, n int) int64 {
	return s.of.Start + int64(float64(s.of.End-s.of.Start)*float64(i)/float64(n))
}

// begin returns the events that a window begins with: goroutines that there are, and the spans open
// on each.
func (s *splitter) begin(at int64) []Event {
	var all []Event
	for g := range s.state {
		p := &s.state[g]
		if !p.known {
			continue
		}
		p.event.At = at
		all = append(all, p.event)
	}
	for g := range s.state {
		for _, ref := range s.state[g].open {
			all = append(all, Event{Kind: EvOpen, At: at, G: int32(g), By: NoWaker, Ref: ref})
		}
	}
	return all
}

func (s *splitter) follow(e *Event) {
	p := &s.state[e.G]
	is := func(state int32) {
		p.known, p.event = true, Event{Kind: EvExists, G: e.G, By: NoWaker, Arg: state, Site: e.Site}
	}
	switch e.Kind {
	case EvExists:
		is(e.Arg)
	case EvCreate, EvReady, EvYield:
		is(StateRunnable)
	case EvStart, EvReturn:
		is(StateRunning)
	case EvWait:
		is(StateWaiting)
	case EvSyscall:
		is(StateSyscall)
	case EvEnd:
		*p = present{}
	case EvOpen:
		p.open = append(p.open, e.Ref)
		s.owner[e.Ref] = e.G
	case EvClose: // on the goroutine that it began on or another one
		p = &s.state[s.owner[e.Ref]]
		if i := slices.Index(p.open, e.Ref); i >= 0 {
			p.open = slices.Delete(p.open, i, i+1)
		}
	}
}
