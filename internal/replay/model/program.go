package model

import (
	"iter"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A beginning is what a goroutine does when the window begins. The replay puts it back there:
// slices that all began together would end together, and processors would change goroutines in
// step.
type beginning struct {
	State uint8
	At    int64 // when it is first given a processor: ready goroutines start in that order
	Slice int64 // what one that runs has left of its slice, ns; 0 where that is not known
}

// An ObjectKind is what an object is.
type ObjectKind uint8

// The kinds of objects. The first four follow Go: internal/sync/mutex.go (barging, starvation),
// sync/rwmutex.go, sync/waitgroup.go and runtime/chan.go. The others are what a program makes of
// condition variables, channels and timers, and are only inferred.
const (
	objectNone ObjectKind = iota
	ObjectMutex
	ObjectRWMutex
	ObjectWaitGroup
	ObjectChan
	ObjectBarrier  // all that come wait for the last one
	ObjectPace     // a rate limiter
	ObjectSequence // goroutines go on in the order of tickets
	ObjectBatch    // a goroutine takes whatever has come, and answers all
)

// An ObjectInfo is a lock, a channel or the like, and its state when the window begins.
type ObjectInfo struct {
	Kind     ObjectKind
	Capacity int32 // elements of a channel, goroutines of a barrier or a batch
	Held     bool  // of a lock, but for reading
	Readers  int32 // that hold it
	Count    int32 // of a wait group, or elements, or goroutines at a barrier
	Owed     int32 // elements that are taken out of it at first, where it is asked about with fewer
	trace.Pool
	Site     int32 // where goroutines wait for it, 0 for not known
	Inferred bool  // from which goroutine woke which
	Pace     Pace
	Elements []int32 // segments of those there at first
	Comes    []int64 // when clients that think at first come, ns since the window's beginning
	Thinks   int64   // for how long clients wait between an answer and the next request, ns
	// Hires is a list that serves it, from 1, where there are as many of these as it takes: a
	// client that finds no connection idle opens another. 0 is for what the recording has.
	Hires int32
	// Staff is how many more goroutines serve it than in the recording, as list Server does; below
	// 0 as many leave as they come back for an element.
	Staff, Server int32
	Tickets       []int32 // of a sequence, in order: the tickets that are taken at first
	Growing               // of batches
}

// A Program is a recording as lists that can be replayed. It is made once for each window, and then
// only read, by many simulations one after the other; what changes it works on a copy, see
// Rewritten. Goroutines, spans, sites and regions have the recording's numbers. Objects have
// others.
type Program struct {
	// Limited means that it is not known whether what a condition variable counts has an end, as a
	// queue of limited length has. Then the program without an end is a bound, too, see countUnseen
	// in package cond.
	Limited bool
	Rec     *trace.Recording
	Lists   []List // by goroutine
	// Inferred means that objects or waits were inferred from which goroutine woke which.
	Inferred bool
	Writes   bool // to the network
	Tokens   int32
	Objects  []ObjectInfo
	Sets     [][]int32 // regions, that of the innermost span first; the first set has none
	Shares   [][]Share // of functions, by set
	Samples  []sampled
	// Segments are where the work of elements begins. The first one is none.
	Segments   []Place
	Answers    []Place // by segment: the send that answers it, in list -1 if there is none
	Points     []PointInfo
	Tables     []Timetable
	Choices    []Choice
	Statements []Statement
	Cases      map[int32]bool // channels that select statements receive from
	Several    map[int32]bool // channels that no goroutine serves, see TakenAmongOthers
	Errands    [][]Errand     // by list
	Letters    []Letter       // in order of arrival
	Told       [][]int32      // by select statement: the channels in its marks
	Stations   []Station      // that serve more than one channel; the first one is none
	// Preferences are those among channels that one select statement receives from.
	Preferences map[Preference]bool
	// Asks are by segment: the channel for the answer to its element, from 1; nil if there is none.
	Asks  []int32
	Calls map[int32]*Calls // by object: what timers call
	// UncalledFor is by list: how long it waited for what timers call, though it is not known what
	// set these, ns.
	UncalledFor map[int32]int64
	visited     [][]int64 // by progress point, in the recording
	PointOf     []int32   // by span: the point that its end visits, -1 for none; only read
	// Latencies from when a goroutine can run until it does, ns: when another processor takes it,
	// when something outside wakes it, and when a processor goes on with the next one.
	Cross, Outside, Swap int64
	Lags                 []int64 // those of cross at even parts of all, nil where these are too few
	Tardy                int64   // how late timers are, ns: no faster region makes that less
	Slices               []int64 // how long goroutines were let run, in order, ns; see yielded
	// Travelling means that work travels with requests, so that the lists cannot begin anew one by
	// one: the replay is over when the first of them is.
	Travelling bool
	// Patience is how long there may be no progress before a wait is broken, ns: the replay has
	// come to a wait-for cycle, or to a wait for what is not in the recording. A shorter one breaks
	// waits of slow programs, a longer one makes a stuck replay slow.
	Patience int64
	Onces    int32 // ops that are done once
	// Schedules are of work per time, and marks are where in lists it begins and ends, in order;
	// see periodic_work.go.
	Schedules []Schedule
	Marks     map[int32][]WorkMark
	Holds     map[int32]Holdback // by span, see holding
	HeldSets  map[int32]uint16   // by region
	Settled   bool               // see settle
	Shared    []int64            // by inferred object: for how long goroutines waited, ns
	Singles   []bool             // by token: it stands for a channel of one element; may be shorter
	Ops       int                // all of them
	// Of the simulator: the executable, and the simulation whose memory the next one takes; nil
	// until the program is simulated.
	Compiled, Spare any
}

// All yields the ops of all lists, with their places: list by list, each in order. It rests in
// between, see [trace.Recording.RestsAt]. Ops may be changed meanwhile; lists must keep theirs.
func (p *Program) All() iter.Seq2[Place, *Op] {
	return func(yield func(Place, *Op) bool) {
		for l := range p.Lists {
			for k := range p.Lists[l].Ops {
				p.Rec.RestsAt(k)
				if !yield(Place{int32(l), int32(k)}, &p.Lists[l].Ops[k]) {
					return
				}
			}
		}
	}
}

// AddSegment returns the number of a new segment, whose work begins behind an op.
func (p *Program) AddSegment(at Place) int32 {
	p.Segments = append(p.Segments, at)
	return int32(len(p.Segments) - 1)
}

// Wakers returns, by token, the op that gives it, in list -1 if that is not in the recording.
func (p *Program) Wakers() []Place {
	wakers := Nowhere(int(p.Tokens))
	for at, o := range p.All() {
		if o.Kind == OpWake {
			wakers[o.Arg] = at
		}
	}
	return wakers
}

// PartWaited returns which part of the window goroutines wait for others, of the waits that which
// reports, all of them together, at most 1. It is one pass over all ops.
func (p *Program) PartWaited(which func(at Place, o *Op) bool) float64 {
	var total int64
	for at, o := range p.All() {
		if o.Kind == OpWait && which(at, o) {
			total += o.D
		}
	}
	return min(1, float64(total)/float64(max(1, p.Rec.End-p.Rec.Start)))
}

// Nowhere returns n places that are in no list.
func Nowhere(n int) []Place { return slices.Repeat([]Place{{-1, -1}}, n) }

// Spanned returns, by list, whether spans begin in it.
func (p *Program) Spanned() []bool {
	spanned := make([]bool, len(p.Lists))
	for l := range p.Lists {
		spanned[l] = p.Lists[l].Has(OpOpen)
	}
	return spanned
}

// A PointInfo is a progress point: what is counted, or the spans of a region. A span is a visit
// when it ends, since a request is progress when it is done.
type PointInfo struct {
	Name   string
	Region int32 // -1 for none
}

// FindPoints takes what the program counts itself, and the spans that are requests, see
// [trace.Recording.Requests]. It must be called once, before the program is simulated.
func (p *Program) FindPoints() {
	for _, name := range p.Rec.Points {
		p.Points = append(p.Points, PointInfo{name, -1})
	}
	regions, points := p.Rec.Requests()
	for _, r := range regions {
		p.Points = append(p.Points, PointInfo{p.Rec.Regions[r].Name, r})
	}
	p.PointOf = points
}

// Visit returns the progress point that an op visits, be it by the end of a span; none if it does
// not.
func (p *Program) Visit(o *Op) int32 {
	switch o.Kind {
	case OpVisit:
		return o.Arg
	case OpClose:
		return p.PointOf[o.Arg]
	}
	return trace.None
}

// IsVisit reports whether an op visits a progress point.
func (p *Program) IsVisit(o *Op) bool { return p.Visit(o) >= 0 }

// VisitAt is Visit of an event.
func (p *Program) VisitAt(e *trace.Event) int32 {
	switch e.Kind {
	case trace.EvVisit:
		return e.Ref
	case trace.EvClose:
		return p.PointOf[e.Ref]
	}
	return trace.None
}

// Recorded returns when each progress point was visited, by point and in order of time, ns since
// the window's beginning. It reads all events the first time, and keeps what it found; not for
// several goroutines before that.
func (p *Program) Recorded() [][]int64 {
	if p.visited == nil {
		p.visited = make([][]int64, len(p.Points))
		for e := range p.Rec.All() {
			if k := p.VisitAt(e); k >= 0 {
				p.visited[k] = append(p.visited[k], e.At-p.Rec.Start)
			}
		}
	}
	return p.visited
}
