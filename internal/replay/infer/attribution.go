package infer

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// An errander follows goroutines through the events, for errands.
type errander struct {
	b       *model.Builder
	g       []helper
	owner   []int32 // of spans: the goroutine, -1 while they are not open
	opened  []int64 // spans
	closed  []int64
	errands [][]model.Errand // by goroutine
	later   []pending
	sent    []*model.Letter // in order of time
	came    []*model.Letter // in order of time
}

// A helper is a goroutine, with spans or without.
type helper struct {
	spanned bool
	open    []int32 // spans: its own, or spans of others that it may be at work for
	since   int64   // when it began with that
	begun   int64   // when it began to wait for another goroutine, 0 if it does not
	parked  int64   // when it last began to wait
	waits   []awaiting
}

// An awaiting is the time of a wait.
type awaiting struct{ from, to int64 }

// A pending errand is one if the goroutine that the spans are of has waited for it.
type pending struct {
	g        int32
	from, to int64
	spans    []int32
}

// findErrands finds the errands of all goroutines.
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
	for i := range rec.Events {
		rec.RestsAt(i)
		switch e := &rec.Events[i]; e.Kind {
		case trace.EvOpen:
			x.g[e.G].spanned = true
		case trace.EvClose:
			x.closed[e.Ref] = e.At
		}
	}
	for i := range rec.Events {
		rec.RestsAt(i)
		x.mail(rec.Events[i].At)
		x.event(&rec.Events[i])
	}
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
	case trace.EvOperate:
		if e.What == mark.Send || e.What == mark.Add && e.Arg < 0 {
			x.soFar(e.G, e.At)
		}
	case trace.EvWait:
		g.parked = e.At
		if e.Arg != trace.WaitTimer && e.Arg != trace.WaitNetwork && !x.b.Has(e.Site, trace.OfRuntime) && !x.b.Has(e.Site, trace.Admission) {
			g.begun = e.At
			x.over(e.G, e.At)
		}
	case trace.EvEnd:
		x.over(e.G, e.At)
	case trace.EvReady:
		if g.begun > 0 && e.By >= 0 && !x.b.Has(e.Site, trace.OfRuntime) {
			x.released(g, e)
		}
		if g.begun > 0 && g.spanned {
			g.waits = append(g.waits, awaiting{g.begun, e.At})
		}
		g.begun = 0
	}
}

// sets has a goroutine without spans be at work for the spans of another one.
func (x *errander) sets(g *helper, by int32, at int64) {
	if !g.spanned {
		g.since, g.open = at, x.open(x.g[by].open, at)
	}
}

// open returns which spans are still open at a time.
func (x *errander) open(spans []int32, at int64) []int32 {
	return slices.DeleteFunc(slices.Clone(spans), func(s int32) bool { return x.closed[s] < at })
}

// mail deals with the letters until a time.
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
// has done its errand.
func (x *errander) writes(l *model.Letter) {
	x.soFar(l.From, l.Written)
	l.Spans = x.open(x.g[l.From].open, l.Written)
}

// reads deals with a goroutine that gets a letter.
func (x *errander) reads(l *model.Letter) {
	g := &x.g[l.To]
	if g.spanned {
		g.waits = append(g.waits, awaiting{g.parked, l.At})
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
// for that.
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
// something to do.
func (x *errander) released(g *helper, e *trace.Event) {
	by := &x.g[e.By]
	if !by.spanned && len(g.open) > 0 {
		x.add(e.By, by.since, e.At, slices.DeleteFunc(slices.Clone(g.open), func(s int32) bool { return x.opened[s] > by.since }))
		by.open, by.since = nil, e.At
		return
	}
	x.sets(g, e.By, e.At)
}

func (x *errander) add(g int32, from, to int64, spans []int32) {
	if len(spans) > 0 {
		x.errands[g] = append(x.errands[g], model.Errand{From: from, To: to, Set: x.b.SetFor(spans)})
	}
}

// waited reports whether a goroutine waited for another one after a time, and began to before
// another time.
func (x *errander) waited(g int32, after, before int64) bool {
	n, _ := slices.BinarySearchFunc(x.g[g].waits, after, func(w awaiting, at int64) int { return cmp.Compare(w.to, at) })
	return n < len(x.g[g].waits) && x.g[g].waits[n].from < before
}

// runErrands gives what is done on errands to the regions that it is done for.
func runErrands(p *model.Program) {
	for l, errands := range p.Errands {
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			if o.Set != 0 || o.Kind != model.OpRun && (o.Kind != model.OpOut || o.Reason != trace.WaitTimer && o.Reason != trace.WaitNetwork) {
				continue
			}
			n, _ := slices.BinarySearchFunc(errands, o.At, func(e model.Errand, at int64) int { return cmp.Compare(e.To, at) })
			if n < len(errands) && errands[n].From < o.At {
				o.Set = errands[n].Set
			}
		}
	}
}
