package infer

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Work that a goroutine without spans does for a span is on the critical path of that span: if what
// the region does is faster, so is this. A pool's worker, a goroutine started for a part of the
// work, or a server of the process without instrumentation are of this kind. Work that is only
// handed over, a line for a logger, is not: the span does not wait for it. The wait makes the
// difference, and a trace has who waited for whom:
//
//	client (spans)   open ... sends ... waits ................. goes on ... close
//	worker (none)                 |woken       works           |wakes        waits again
//	                              since <------ errand ------> at
//
// The worker takes over the client's open spans when it is woken, or started, and loses them when
// it waits for the next. What it did in between is an errand if the client waited until it was
// over. Where spans end on the way, or a second goroutine passes the work on, each takes what is
// still open.
//
// The result is a set of regions for a time of a goroutine. It is right where a goroutine works for
// one request at a time. A goroutine that works for several at once, a batcher for one, has its
// work given to whom it lets go on first. TestErrands has a worker, a started goroutine and a
// logger; TestParts has work in four parts of one query.

// An errander follows goroutines through the events, for errands. Spans have their numbers in
// Recording.Spans, goroutines the numbers of their lists.
type errander struct {
	b      *model.Builder
	g      []helper
	owner  []int32 // of spans: the goroutine, -1 before they are open
	opened []int64 // of spans: when, 0 before
	// closed has when spans end, known from the beginning; math.MaxInt64 if that is not in the
	// window.
	closed  []int64
	errands [][]model.Errand // by goroutine
	later   []pending        // not known to be errands yet
	sent    []*model.Letter  // in order of time
	came    []*model.Letter  // in order of time
}

// A helper is a goroutine, with spans or without. A goroutine that has a span anywhere in the
// window is taken for one with spans all the time, and its work for its own.
type helper struct {
	spanned bool
	open    []int32 // spans: its own, or spans of others that it may be at work for
	since   int64   // when it began with that
	begun   int64   // when it began to wait for another goroutine, 0 if it does not
	parked  int64   // when it last began to wait
	// waits for others, of one with spans, in the order of their ends.
	waits []trace.Interval
}

// A pending errand is one if the goroutine that the spans are of has waited for it: began to wait
// before they closed, and went on when it was done, or later.
type pending struct {
	g        int32
	from, to int64
	spans    []int32
}

// findErrands finds the errands of all goroutines, each goroutine's in order of time. It goes
// through the events twice, and gives up the program's letters, which nothing else needs. Errands
// of one goroutine do not overlap, as since moves on with each.
func findErrands(b *model.Builder) [][]model.Errand {
	rec := b.P.Rec
	x := errander{
		b: b, g: make([]helper, rec.Count), owner: slices.Repeat([]int32{-1}, len(rec.Spans)), opened: make([]int64, len(rec.Spans)),
		closed: slices.Repeat([]int64{math.MaxInt64}, len(rec.Spans)), errands: make([][]model.Errand, rec.Count),
	}
	for i := range b.P.Letters {
		x.sent, x.came = append(x.sent, &b.P.Letters[i]), append(x.came, &b.P.Letters[i])
	}
	slices.SortStableFunc(x.sent, func(a, b *model.Letter) int { return cmp.Compare(a.Written, b.Written) })
	slices.SortStableFunc(x.came, func(a, b *model.Letter) int { return cmp.Compare(a.At, b.At) })
	// An end that is still to come must be known: what begins when a span is about to end is not
	// for it.
	for e := range rec.All() {
		switch e.Kind {
		case trace.EvOpen:
			x.g[e.G].spanned = true
		case trace.EvClose:
			x.closed[e.Ref] = e.At
		}
	}
	// Letters have come before the event at the same time: a wait ends, and then something is done.
	for e := range rec.All() {
		x.mail(e.At)
		x.event(e)
	}
	// What was done may have been waited for only later, even behind other work. So this is decided
	// when all waits are known, for each span by itself.
	for _, p := range x.later {
		p.spans = slices.DeleteFunc(p.spans, func(s int32) bool { return !x.waited(x.owner[s], p.to, x.closed[s]) })
		x.add(p.g, p.from, p.to, p.spans)
	}
	for g := range x.errands {
		slices.SortStableFunc(x.errands[g], func(a, b model.Errand) int { return cmp.Compare(a.From, b.From) })
	}
	b.P.Letters = nil
	return x.errands
}

// event follows one event. Work is booked where others may have waited for it: at a send, at the
// end of a part of a wait group, at a wait and at the end of the goroutine.
func (x *errander) event(e *trace.Event) {
	g := &x.g[e.G]
	switch e.Kind {
	case trace.EvOpen:
		x.owner[e.Ref], x.opened[e.Ref] = e.G, e.At
		g.open = append(g.open, e.Ref)
	case trace.EvClose:
		if of := x.owner[e.Ref]; of >= 0 {
			x.g[of].open = slices.DeleteFunc(x.g[of].open, func(s int32) bool { return s == e.Ref })
		}
	case trace.EvCreate:
		if e.By >= 0 {
			x.sets(g, e.By, e.At)
		}
	// One that sends a result, or counts down a wait group, goes on: what it did until here is
	// done.
	case trace.EvOperate:
		if e.What == mark.Send || e.What == mark.Add && e.Arg < 0 {
			x.soFar(e.G, e.At)
		}
	case trace.EvWait:
		g.parked = e.At
		// A wait for a timer, the network, room in a channel or a lock is in the middle of the same
		// work. Only a wait for other goroutines may be the one for the next request.
		if e.Arg != trace.WaitTimer && e.Arg != trace.WaitNetwork && !x.b.Has(e.Site, trace.OfRuntime) && !x.b.Has(e.Site, trace.Admission) {
			g.begun = e.At
			x.over(e.G, e.At)
		}
	case trace.EvEnd:
		x.over(e.G, e.At)
	case trace.EvReady:
		// The garbage collector and timers wake goroutines too, on any goroutine that happens to
		// run.
		if g.begun > 0 && e.By >= 0 && !x.b.Has(e.Site, trace.OfRuntime) {
			x.released(g, e)
		}
		if g.begun > 0 && g.spanned {
			g.waits = append(g.waits, trace.Interval{From: g.begun, To: e.At})
		}
		g.begun = 0
	}
}

// sets has a goroutine without spans be at work for the spans of another one, as far as they are
// open, from a time. What it was at work for before is over.
func (x *errander) sets(g *helper, by int32, at int64) {
	if !g.spanned {
		g.since, g.open = at, x.open(x.g[by].open, at)
	}
}

// open returns which spans are still open at a time, as a new slice.
func (x *errander) open(spans []int32, at int64) []int32 {
	return slices.DeleteFunc(slices.Clone(spans), func(s int32) bool { return x.closed[s] < at })
}

// mail deals with the letters until a time, in order: of letters at one time the written ones
// first, as none can come before it is written. Letters are what connections and hand-overs by
// channels have found.
func (x *errander) mail(until int64) {
	for ; len(x.sent) > 0 && x.sent[0].Written <= until; x.sent = x.sent[1:] {
		for ; len(x.came) > 0 && x.came[0].At < x.sent[0].Written; x.came = x.came[1:] {
			x.reads(x.came[0])
		}
		x.writes(x.sent[0])
	}
	for ; len(x.came) > 0 && x.came[0].At <= until; x.came = x.came[1:] {
		x.reads(x.came[0])
	}
}

// writes deals with a goroutine that writes a request, or the answer to one, with which a server
// has done its errand. The letter takes along what the writer works for, so that work is followed
// over several goroutines and connections.
func (x *errander) writes(l *model.Letter) {
	x.soFar(l.From, l.Written)
	l.Spans = x.open(x.g[l.From].open, l.Written)
}

// reads deals with a goroutine that gets a letter. One with spans has waited for its answer, since
// it last began to wait. One without is at work for the writer from now on.
func (x *errander) reads(l *model.Letter) {
	g := &x.g[l.To]
	if g.spanned {
		g.waits = append(g.waits, trace.Interval{From: g.parked, To: l.At})
		return
	}
	x.over(l.To, l.At)
	g.open = x.open(l.Spans, l.At)
}

// over ends what a goroutine without spans did, for spans that are still open.
func (x *errander) over(goroutine int32, at int64) {
	if g := &x.g[goroutine]; !g.spanned {
		x.soFar(goroutine, at)
		g.open, g.since = nil, at
	}
}

// soFar notes what a goroutine without spans has done until a time at which others may have waited
// for that. It is pending: whether they did is not known yet. The next piece begins here.
func (x *errander) soFar(goroutine int32, at int64) {
	g := &x.g[goroutine]
	if g.spanned {
		return
	}
	if spans := x.open(g.open, at); len(spans) > 0 {
		x.later = append(x.later, pending{goroutine, g.since, at, spans})
		g.since = at
	}
}

// released deals with a goroutine that goes on after a wait for another one: it has a result, or
// something to do. Whether it is the one or the other shows in who has spans. A goroutine with open
// spans that one without wakes has its result: what that did since it took it up is an errand, for
// the spans that were open all the time. Else it is woken to work for the waker.
func (x *errander) released(g *helper, e *trace.Event) {
	by := &x.g[e.By]
	if !by.spanned && len(g.open) > 0 {
		x.add(e.By, by.since, e.At, slices.DeleteFunc(slices.Clone(g.open), func(s int32) bool { return x.opened[s] > by.since }))
		by.open, by.since = nil, e.At
		return
	}
	x.sets(g, e.By, e.At)
}

// add books an errand from one time to another. SetFor gives the same spans the same set.
func (x *errander) add(g int32, from, to int64, spans []int32) {
	if len(spans) > 0 {
		x.errands[g] = append(x.errands[g], model.Errand{From: from, To: to, Set: x.b.SetFor(spans)})
	}
}

// waited reports whether a goroutine waited for another one after a time, and began to before
// another time: whether the first wait that ended at that time or later began before. It takes log
// n.
func (x *errander) waited(g int32, after, before int64) bool {
	n, _ := slices.BinarySearchFunc(x.g[g].waits, after, func(w trace.Interval, at int64) int { return cmp.Compare(w.To, at) })
	return n < len(x.g[g].waits) && x.g[g].waits[n].From < before
}

// runErrands gives what is done on errands to the regions that it is done for. An op is of an
// errand if it ends in it, as a whole: ops end where a goroutine begins to wait, sends or wakes
// another, and so do errands. Ops in a set of their own keep it. Of waits these are for timers and
// the network: a wait for another goroutine is not shorter because a region is.
func runErrands(p *model.Program) {
	grows := map[uint16]bool{} // sets that do as ops in none did
	for l, errands := range p.Errands {
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if o.Set != 0 || o.Kind != model.OpRun && (o.Kind != model.OpOut || o.Reason != trace.WaitTimer && o.Reason != trace.WaitNetwork) {
				continue
			}
			n, _ := slices.BinarySearchFunc(errands, o.At, func(e model.Errand, at int64) int { return cmp.Compare(e.To, at) })
			if n < len(errands) && errands[n].From < o.At {
				if o.Set = errands[n].Set; !grows[o.Set] {
					p.GrowsAs(o.Set, 0)
					grows[o.Set] = true
				}
			}
		}
	}
}
