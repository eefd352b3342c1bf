package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Requests go through several processes. Each records what its own goroutines do, and a wait for
// another process is a wait for the network in it, which nothing makes shorter. Put together the
// recordings are as one of a program whose parts talk over loopback connections: package infer
// joins both ends of a request by the IDs of their spans. What differs is that each process has its
// own processors, call stacks and clock.

// A Process is one of those whose recordings were joined. Numbers of goroutines and processors go
// on from one process to the next.
type Process struct {
	Name       string
	Goroutines int32 // their numbers are below that, and not below that of the process before
	Procs      int   // GOMAXPROCS
	Clock      Clock // to the clock of the first process, whose own is zero
	// Raw and Lag are how long requests from or to the process before it in the order of joining
	// were on their way, by the clocks as they were and as they are mapped: the least of all, ns.
	Raw, Lag int64
	// Marking is when garbage was collected in it, as [Collections] has it of one process.
	Marking []Interval
}

// Homes returns the number of the process of each goroutine; nil where there is only one.
func (r *Recording) Homes() []int32 {
	if len(r.Processes) == 0 {
		return nil
	}
	homes := make([]int32, 0, r.Count)
	for i, p := range r.Processes {
		for int32(len(homes)) < p.Goroutines {
			homes = append(homes, int32(i))
		}
	}
	return homes
}

// ClockError is how far a time may be off at most by the clock of another process, ns; 0 in a
// recording of one.
func (r *Recording) ClockError() (most int64) {
	for i := range r.Processes {
		most = max(most, r.Processes[i].Clock.Bound)
	}
	return most
}

// leastTogether is for how long all processes must have recorded at the same time, ns.
const leastTogether = 100_000_000

// Join puts recordings that several processes made at the same time into one, by the clock of the
// first. It has the time in which all of them recorded. Requests join them: spans whose remote
// parents are in another recording. A process without any ([ApartError]), or whose clock agrees
// with no line through the times of its requests, is an error that names it; so is too little time
// together, and more events than one recording may have ([ErrTooLarge]).
func Join(names []string, recs []*Recording) (*Recording, error) {
	j := joiner{names: names, recs: recs}
	j.exchange()
	if err := j.align(); err != nil {
		return nil, err
	}
	from, to := j.clocks[0].at(recs[0].Start), j.clocks[0].at(recs[0].End)
	for i, r := range recs {
		from, to = max(from, j.clocks[i].at(r.Start)), min(to, j.clocks[i].at(r.End))
	}
	if to-from < leastTogether {
		return nil, fmt.Errorf("recordings: must have %v in common, have %v: they must be made at the same time", time.Duration(leastTogether), max(0, time.Duration(to-from)))
	}
	events := 0
	for i := range recs {
		j.recs[i] = recs[i].between(from, to, &j.clocks[i])
		events += len(j.recs[i].Events)
	}
	if events > maxEvents {
		return nil, fmt.Errorf("%w: more than %d events", ErrTooLarge, maxEvents)
	}
	return j.merge(from, to), nil
}

// An ApartError is that of a process which has no request in common with the first one, nor with
// others that have.
type ApartError struct {
	Process int // its place among the recordings
	Name    string
}

func (e *ApartError) Error() string {
	return fmt.Sprintf("clock of %s: not known: must have spans whose remote parents are in another recording, or the other way round; context must be propagated, and traced by both", e.Name)
}

// A joiner joins recordings.
type joiner struct {
	names  []string
	recs   []*Recording
	sent   map[[2]int][]message // from a process to another one
	clocks []Clock              // to that of the first process
	raw    []int64              // see Process
	lag    []int64
}

// exchange finds the messages between processes.
func (j *joiner) exchange() {
	type place struct {
		process int
		span    int32
	}
	parents := map[uint64]place{}
	times := make([][]spanTime, len(j.recs))
	for p, r := range j.recs {
		times[p] = r.spanTimes()
		for i := range r.Spans {
			if id := r.Spans[i].ID; id != 0 {
				parents[id] = place{p, int32(i)}
			}
		}
	}
	j.sent = map[[2]int][]message{}
	for q, r := range j.recs {
		for i := range r.Spans {
			at, ok := parents[r.Spans[i].Remote]
			if p := at.process; ok && p != q {
				client, server := times[p][at.span], times[q][i]
				if client.begun != unseen && server.begun != unseen {
					j.sent[[2]int{p, q}] = append(j.sent[[2]int{p, q}], message{client.begun, server.begun})
				}
				// What takes longer than its client was not waited for: a consumer of a queue.
				if client.ended != unseen && server.ended != unseen && client.begun != unseen && server.ended-server.begun <= client.ended-client.begun {
					j.sent[[2]int{q, p}] = append(j.sent[[2]int{q, p}], message{server.woken, client.ended})
				}
			}
		}
	}
}

// unseen is the time of what is not in a recording.
const unseen = -1 << 62

// A spanTime is when a span began and ended, and when its goroutine last came back from a wait
// within it. A server's answer has not left before that, but may have before the end, which
// middleware notes when it is let run again.
type spanTime struct{ begun, woken, ended int64 }

func (r *Recording) spanTimes() []spanTime {
	times := slices.Repeat([]spanTime{{unseen, unseen, unseen}}, len(r.Spans))
	woken := slices.Repeat([]int64{unseen}, int(r.Count))
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case EvReady:
			woken[e.G] = e.At
		case EvOpen:
			times[e.Ref].begun = e.At
		case EvClose:
			x := &times[e.Ref]
			x.ended, x.woken = e.At, max(x.begun, woken[e.G])
		}
	}
	return times
}

// align finds all clocks: of the first process, of those that exchange messages with it, and so on.
// Of several ways to a process it takes the one by which the clock is known best.
func (j *joiner) align() error {
	n := len(j.recs)
	j.clocks, j.raw, j.lag = make([]Clock, n), make([]int64, n), make([]int64, n)
	known := make([]bool, n)
	known[0] = true
	for range n - 1 {
		best, at, by := Clock{}, -1, -1
		for p := range n {
			for q := range n {
				if !known[p] || known[q] {
					continue
				}
				c, ok := align(j.sent[[2]int{p, q}], j.sent[[2]int{q, p}])
				if c = c.then(&j.clocks[p]); ok && (at < 0 || c.Bound < best.Bound) {
					best, at, by = c, q, p
				}
			}
		}
		if at < 0 {
			return j.unknown(known)
		}
		j.clocks[at], known[at] = best, true
		j.measure(by, at)
	}
	return nil
}

// unknown returns why the clocks of processes are not known.
func (j *joiner) unknown(known []bool) error {
	for q := range known {
		for p := range known {
			if to, from := len(j.sent[[2]int{p, q}]), len(j.sent[[2]int{q, p}]); known[p] && !known[q] && to > 0 && from > 0 {
				return fmt.Errorf("clocks of %s and %s: must agree with %d requests and answers: one was set meanwhile, or spans of one trace did not wait for each other", j.names[p], j.names[q], to+from)
			}
		}
	}
	q := slices.Index(known, false)
	return &ApartError{q, j.names[q]}
}

// measure notes how long messages between two processes took, at least, before and after. What was
// left out came before it left.
func (j *joiner) measure(p, q int) {
	j.raw[q], j.lag[q] = 1<<62, 1<<62
	for _, m := range j.sent[[2]int{p, q}] {
		if lag := j.clocks[q].at(m.came) - j.clocks[p].at(m.left); lag >= -1 { // of rounding
			j.raw[q], j.lag[q] = min(j.raw[q], m.came-m.left), min(j.lag[q], lag)
		}
	}
}

// merge puts recordings of one window and clock together.
func (j *joiner) merge(from, to int64) *Recording {
	b := NewRecorder(from, 0)
	all := &b.R
	all.End, all.Rest = to, j.recs[0].Rest
	operated := !slices.ContainsFunc(j.recs, func(r *Recording) bool { return !r.Operated() })
	for i, r := range j.recs {
		if !operated { // one that marks none would seem to have none
			r = r.WithoutOperations()
		}
		b.join(int32(i), r)
		all.Processes = append(all.Processes, Process{Name: j.names[i], Goroutines: all.Count, Procs: r.Procs, Clock: j.clocks[i], Raw: j.raw[i], Lag: j.lag[i], Marking: r.Marking})
		all.Cut = errors.Join(all.Cut, r.Cut)
		all.Machine.Add(r.Machine, 1)
		all.Starved, all.Pressed, all.Collected = max(all.Starved, r.Starved), max(all.Pressed, r.Pressed), max(all.Collected, r.Collected)
	}
	all.Length = to - from
	slices.SortStableFunc(all.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// join adds a process, whose numbers go on from those that there are.
func (b *Recorder) join(process int32, r *Recording) {
	all := &b.R
	goroutines, procs, spans, sites, objects := all.Count, int32(all.Procs), int32(len(all.Spans)), int32(len(all.Sites))-1, all.Objects
	regions, points := make([]int32, len(r.Regions)), make([]int32, len(r.Points))
	for i, region := range r.Regions {
		regions[i] = b.RegionOf(region)
	}
	for i, name := range r.Points {
		points[i] = b.PointOf(name)
	}
	for _, s := range r.Spans {
		s.Region = regions[s.Region]
		if s.Parent >= 0 {
			s.Parent += spans
		}
		all.Spans = append(all.Spans, s)
	}
	for _, s := range r.Sites[1:] {
		all.Sites = append(all.Sites, Site{s.Frames, process})
	}
	for _, e := range r.Events {
		e.G += goroutines
		if e.By >= 0 {
			e.By += goroutines
		}
		if e.Site > 0 {
			e.Site += sites
		}
		switch e.Kind {
		case EvStart, EvReturn:
			e.Arg += procs
		case EvReady:
			if e.Arg > 0 { // a processor, from 1
				e.Arg += procs
			}
		case EvOpen, EvClose:
			e.Ref += spans
		case EvVisit:
			e.Ref = points[e.Ref]
		case EvOperate:
			e.Ref += objects
		}
		all.Events = append(all.Events, e)
	}
	for _, a := range r.Assists {
		a.G += goroutines
		all.Assists = append(all.Assists, a)
	}
	all.Count, all.Procs, all.Objects, all.Traced = goroutines+r.Count, int(procs)+r.Procs, objects+r.Objects, all.Traced+r.Traced
}
