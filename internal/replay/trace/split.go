package trace

import (
	"iter"
	"slices"
)

// Windows cuts a recording into n windows of equal length, which are recordings of their own, as if
// each had been made alone: what an interval needs, where there is one recording (the method of
// batch means). Windows of one recording are alike in what differs between recordings; [Origin] is
// how the caller knows them. Each is made when the one before is done with: its events are copies,
// 32 bytes for each.
//
// The windows share what never changes, and all numbers. With n below 2, or fewer ns than windows,
// the recording itself is the only one. An event is in one window only; each window begins with
// copies of the events that describe what there is:
//
//	recording  |--g1 runs--open A------|------close A--g1 waits--|
//	window 2                           |exists g1, running; open A; close A; g1 waits|
//
// Kept over a border: which goroutines there are, their states, where and why they wait, and which
// spans are open. Not kept: who created a goroutine, for how long it has waited, operations that
// have begun, locks that are held, elements in channels.
// Package model finds the last ones anew, as at the beginning of a recording. TestSplit and
// TestSplitInside hold it.
//
// The time is linear in the events, and n times the goroutines.
func (r *Recording) Windows(n int) iter.Seq[*Recording] {
	return func(yield func(*Recording) bool) {
		if n < 2 || r.End-r.Start < int64(n) {
			yield(r)
			return
		}
		s := newSplitter(r)
		next := 0
		all, shared := new(Origin), new(common)
		for i := range n {
			from, to := s.border(i, n), s.border(i+1, n)
			last := next
			for last < len(r.Events) && (r.Events[last].At < to || i == n-1) {
				last++
			}
			// What begin returns is new, so that append copies: no window writes into another one's
			// list.
			w := *r
			w.Start, w.End, w.Traced, w.Origin, w.common = from, to, last-next, all, shared
			w.Events = append(s.begin(from), r.Events[next:last]...)
			if !yield(&w) {
				return
			}
			for ; next < last; next++ {
				r.RestsAt(next)
				s.follow(&r.Events[next])
			}
		}
	}
}

// between returns what happened in the recording in a part of the time by another clock, and by
// that.
func (r *Recording) between(from, to int64, by *Clock) *Recording {
	s := newSplitter(r)
	first := 0
	for ; first < len(r.Events) && by.at(r.Events[first].At) < from; first++ {
		r.RestsAt(first)
		s.follow(&r.Events[first])
	}
	w := *r
	w.Start, w.End, w.Events, w.Collections = from, to, s.begin(from), r.Collections.between(from, to, by)
	there := len(w.Events)
	for i, e := range r.Events[first:] {
		r.RestsAt(i)
		if e.At = by.at(e.At); e.At > to {
			break
		}
		w.Events = append(w.Events, e)
	}
	w.Traced = len(w.Events) - there
	return &w
}

// An Origin is what windows of one recording have in common: its address. It has a byte, since
// pointers to values of no size may be equal. Where recordings differ by more than windows of one
// do, the interval comes from between recordings (stats.Clustered).
type Origin struct{ _ byte }

// A splitter follows the goroutines through the events, to find what there is where a window
// begins.
type splitter struct {
	of    *Recording
	state []present // by goroutine
	owner []int32   // of each span: the goroutine that it began on
}

func newSplitter(r *Recording) *splitter {
	return &splitter{of: r, state: make([]present, r.Count), owner: make([]int32, len(r.Spans))}
}

// present is a goroutine at the border of two windows.
type present struct {
	known bool    // it is there: it has had an event, and has not ended
	event Event   // of kind EvExists, which describes it in the next window
	open  []int32 // spans that began on it, the outermost first
}

// border returns where window i of n begins, and the one before ends, ns. Both windows compute it
// in the same way, so that no event is lost between them.
func (s *splitter) border(i, n int) int64 {
	return s.of.Start + int64(float64(s.of.End-s.of.Start)*float64(i)/float64(n))
}

// begin returns the events that a window begins with: goroutines that there are, and the spans open
// on each. All goroutines come first, so that each is known when a span opens on it.
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

// follow takes the next event of the recording.
func (s *splitter) follow(e *Event) {
	p := &s.state[e.G]
	is := func(state, reason int32) {
		p.known, p.event = true, Event{Kind: EvExists, G: e.G, By: NoWaker, Arg: state, Ref: reason, Site: e.Site}
	}
	switch e.Kind {
	case EvExists:
		is(e.Arg, e.Ref)
	case EvCreate, EvReady, EvYield:
		is(StateRunnable, 0)
	case EvStart, EvReturn:
		is(StateRunning, 0)
	case EvWait:
		is(StateWaiting, e.Arg)
	case EvSyscall, EvIdle:
		is(StateSyscall, 0)
	// A span that outlives its goroutine is no longer on any, and the next window does not have it.
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
