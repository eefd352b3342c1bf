package model

import (
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A beginning is what a goroutine does when the window begins.
type beginning struct {
	State uint8
	At    int64 // when one that is runnable starts
	Slice int64 // what one that runs has left of its slice, 0 where that is not known
}

// An ObjectKind is what an object is.
type ObjectKind uint8

// The kinds of objects.
const (
	objectNone ObjectKind = iota
	ObjectMutex
	ObjectRWMutex
	ObjectWaitGroup
	ObjectChan
	ObjectBarrier
	ObjectPace
	ObjectSequence
	ObjectBatch
	ObjectStore
)

// An ObjectInfo is a lock, a channel or the like, and its state when the window begins.
type ObjectInfo struct {
	Kind     ObjectKind
	Capacity int32
	Held     bool  // by a writer
	Readers  int32 // that hold it
	Count    int32 // of a wait group, or elements
	Owed     int32 // elements that are taken out of it at first
	trace.Pool
	Site     int32 // where goroutines wait for it
	Inferred bool  // from which goroutine woke which
	Pace     Pace
	Elements []int32 // segments of those there at first
	Comes    []int64 // when requests of clients come that wait at first, see clients.go
	Thinks   int64   // for how long clients wait between an answer and the next request
	Tickets  []int32 // of a sequence, in order: the tickets that are taken at first
	// Lasts is for how long what is in a store is good, 0 where uses are counted, and since is when
	// it was loaded.
	Lasts, Since int64
	Growing      // of batches
}

// A Program is a recording as lists that can be replayed.
type Program struct {
	Limited bool // what condition variables count is not known to have an end, see countUnseen in package cond
	Rec     *trace.Recording
	Lists   []List
	// Inferred means that objects or waits were inferred from which goroutine woke which.
	Inferred bool
	Writes   bool // to the network
	Tokens   int32
	Objects  []ObjectInfo
	Sets     [][]int32 // regions
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
	Errands    [][]Errand     // by list
	Letters    []Letter       // in order of arrival
	Told       [][]int32      // by select statement: the channels in its marks
	Stations   []Station      // that serve more than one channel; the first one is none
	// Preferences are those among channels that one select statement receives from.
	Preferences map[Preference]bool
	Asks        []int32 // by segment: the channel for the answer to its element, from 1; nil if there is none
	// ByRule is where batches are waited for that are decided anew, and uneven where it is batches
	// of which it is not known how much longer larger ones take.
	ByRule, Uneven []int32
	Fillings       []Filling
	Calls          map[int32]*Calls  // by object: what timers call
	UncalledFor    map[int32]int64   // by list: how long it waited for what timers call, though it is not known what set these, ns
	Lent           map[int32][]int32 // by store: the numbers of fillings that any goroutine can do
	visited        [][]int64         // by progress point, in the recording
	PointOf        []int32           // by span: the point that its end visits, -1 for none
	// Latencies from when a goroutine can run until it does, ns: when another processor takes it,
	// when something outside wakes it, and when a processor goes on with the next one.
	Cross, Outside, Swap int64
	Lags                 []int64 // those of cross at even parts of all, nil where these are too few
	Tardy                int64   // how late timers are, ns
	Slices               []int64 // how long goroutines were let run while others waited, in order; see Builder.yielded
	// Travelling means that work travels with requests, so that the lists cannot begin anew one by
	// one: the replay is over when the first of them is.
	Travelling bool
	// Patience is how long there may be no progress before a wait is broken, ns.
	Patience int64
	Onces    int32 // ops that are done once
	// Schedules are of work per time, and marks are where in lists it begins and ends, in order;
	// see periodic_work.go.
	Schedules []Schedule
	Marks     map[int32][]WorkMark
	Holds     map[int32]Holdback // by span, see holding
	HeldSets  map[int32]uint16   // by region
	Settled   bool               // see settle
	Ops       int                // all of them
	// Of the simulator: the executable, and the simulation whose memory the next one takes; nil
	// until the program is simulated.
	Compiled, Spare any
}

// A PointInfo is a progress point: what is counted, or the spans of a region.
type PointInfo struct {
	Name   string
	Region int32 // -1 for none
}

// FindPoints takes what the program counts itself, and the spans without a parent here, with the
// others of their regions if these are fewer. Where all regions of theirs have more others, as
// those of all calls of HTTP together, it takes the spans without a parent alone, of the region
// that has most.
func (p *Program) FindPoints() {
	for _, name := range p.Rec.Points {
		p.Points = append(p.Points, PointInfo{name, -1})
	}
	parents := p.Rec.RemoteParents()
	isRoot := func(s *trace.Span) bool { return s.Root && (s.Remote == 0 || parents[s.Remote] < 0) }
	roots, all := make([]int, len(p.Rec.Regions)), make([]int, len(p.Rec.Regions))
	for i := range p.Rec.Spans {
		s := &p.Rec.Spans[i]
		all[s.Region]++
		if isRoot(s) {
			roots[s.Region]++
		}
	}
	most := int32(trace.None)
	taken := false
	for r, n := range roots {
		taken = taken || n > 0 && 2*n > all[r]
		if n > 0 && (most < 0 || n > roots[most]) {
			most = int32(r)
		}
	}
	of := make([]int32, len(p.Rec.Regions))
	for r, n := range roots {
		of[r] = trace.None
		if n > 0 && 2*n > all[r] || !taken && int32(r) == most {
			of[r] = int32(len(p.Points))
			p.Points = append(p.Points, PointInfo{p.Rec.Regions[r].Name, int32(r)})
		}
	}
	p.PointOf = make([]int32, len(p.Rec.Spans))
	for i := range p.Rec.Spans {
		s := &p.Rec.Spans[i]
		p.PointOf[i] = of[s.Region]
		if !taken && !isRoot(s) {
			p.PointOf[i] = trace.None
		}
	}
}

// Recorded returns when each progress point was visited, since the window's beginning.
func (p *Program) Recorded() [][]int64 {
	if p.visited == nil {
		p.visited = make([][]int64, len(p.Points))
		for i := range p.Rec.Events {
			p.Rec.RestsAt(i)
			e := &p.Rec.Events[i]
			k := int32(-1)
			switch e.Kind {
			case trace.EvVisit:
				k = e.Ref
			case trace.EvClose:
				k = p.PointOf[e.Ref]
			}
			if k >= 0 {
				p.visited[k] = append(p.visited[k], e.At-p.Rec.Start)
			}
		}
	}
	return p.visited
}
