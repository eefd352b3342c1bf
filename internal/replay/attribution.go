package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// Work by goroutines that have no spans is a span's where a goroutine in the span waits for it: where a pool's workers, or goroutines that
// the span has started, do what it is for, or a server within the process that has no spans. A region that is faster has that done
// faster, too. What is only handed over, such as a line to be logged, is not the span's.

// An errand is what a goroutine without spans did from one time to another for the spans of a set.
type errand struct {
	from, to int64
	set      uint16
}

// An errander follows goroutines through the events, for errands.
type errander struct {
	b       *builder
	g       []helper
	owner   []int32 // of spans: the goroutine, -1 while they are not open
	opened  []int64 // spans
	closed  []int64
	errands [][]errand // by goroutine
	later   []pending
	sent    []*letter // in order of time
	came    []*letter // in order of time
}

// A letter is what one goroutine gives to another one, by a connection or a channel.
type letter struct {
	from, to    int32
	written, at int64   // when it has come
	spans       []int32 // that were open when it was written
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
func (b *builder) findErrands() [][]errand {
	rec := b.p.rec
	x := errander{
		b: b, g: make([]helper, rec.count), owner: slices.Repeat([]int32{-1}, len(rec.spans)), opened: make([]int64, len(rec.spans)),
		closed: slices.Repeat([]int64{math.MaxInt64}, len(rec.spans)), errands: make([][]errand, rec.count),
	}
	for i := range b.p.letters {
		x.sent, x.came = append(x.sent, &b.p.letters[i]), append(x.came, &b.p.letters[i])
	}
	slices.SortStableFunc(x.sent, func(a, b *letter) int { return cmp.Compare(a.written, b.written) })
	slices.SortStableFunc(x.came, func(a, b *letter) int { return cmp.Compare(a.at, b.at) })
	for i := range rec.events {
		rec.restsAt(i)
		switch e := &rec.events[i]; e.kind {
		case evOpen:
			x.g[e.g].spanned = true
		case evClose:
			x.closed[e.ref] = e.at
		}
	}
	for i := range rec.events {
		rec.restsAt(i)
		x.mail(rec.events[i].at)
		x.event(&rec.events[i])
	}
	for _, p := range x.later {
		p.spans = slices.DeleteFunc(p.spans, func(s int32) bool { return !x.waited(x.owner[s], p.to, x.closed[s]) })
		x.add(p.g, p.from, p.to, p.spans)
	}
	for g := range x.errands {
		slices.SortStableFunc(x.errands[g], func(a, b errand) int { return cmp.Compare(a.from, b.from) })
	}
	b.p.letters = nil
	return x.errands
}

func (x *errander) event(e *event) {
	g := &x.g[e.g]
	switch e.kind {
	case evOpen:
		x.owner[e.ref], x.opened[e.ref] = e.g, e.at
		g.open = append(g.open, e.ref)
	case evClose:
		if of := x.owner[e.ref]; of >= 0 {
			x.g[of].open = slices.DeleteFunc(x.g[of].open, func(s int32) bool { return s == e.ref })
		}
	case evCreate:
		if e.by >= 0 {
			x.sets(g, e.by, e.at)
		}
	case evOperate:
		if e.what == mark.Send || e.what == mark.Add && e.arg < 0 {
			x.soFar(e.g, e.at)
		}
	case evWait:
		g.parked = e.at
		if e.arg != waitTimer && e.arg != waitNetwork && !x.b.has(e.site, ofRuntime) && !x.b.has(e.site, admission) {
			g.begun = e.at
			x.over(e.g, e.at)
		}
	case evEnd:
		x.over(e.g, e.at)
	case evReady:
		if g.begun > 0 && e.by >= 0 && !x.b.has(e.site, ofRuntime) {
			x.released(g, e)
		}
		if g.begun > 0 && g.spanned {
			g.waits = append(g.waits, awaiting{g.begun, e.at})
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
	for ; len(x.sent) > 0 && x.sent[0].written <= until; x.sent = x.sent[1:] {
		for ; len(x.came) > 0 && x.came[0].at < x.sent[0].written; x.came = x.came[1:] {
			x.reads(x.came[0])
		}
		x.writes(x.sent[0])
	}
	for ; len(x.came) > 0 && x.came[0].at <= until; x.came = x.came[1:] {
		x.reads(x.came[0])
	}
}

// writes deals with a goroutine that writes a request, or the answer to one, with which a server has done its errand.
func (x *errander) writes(l *letter) {
	x.soFar(l.from, l.written)
	l.spans = x.open(x.g[l.from].open, l.written)
}

// reads deals with a goroutine that gets a letter.
func (x *errander) reads(l *letter) {
	g := &x.g[l.to]
	if g.spanned {
		g.waits = append(g.waits, awaiting{g.parked, l.at})
		return
	}
	x.over(l.to, l.at)
	g.open = x.open(l.spans, l.at)
}

// over ends what a goroutine without spans did, for spans that are still open.
func (x *errander) over(goroutine int32, at int64) {
	if g := &x.g[goroutine]; !g.spanned {
		x.soFar(goroutine, at)
		g.open, g.since = nil, at
	}
}

// soFar notes what a goroutine without spans has done until a time at which others may have waited for that.
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

// released deals with a goroutine that goes on after a wait for another one: it has a result, or something to do.
func (x *errander) released(g *helper, e *event) {
	by := &x.g[e.by]
	if !by.spanned && len(g.open) > 0 {
		x.add(e.by, by.since, e.at, slices.DeleteFunc(slices.Clone(g.open), func(s int32) bool { return x.opened[s] > by.since }))
		by.open, by.since = nil, e.at
		return
	}
	x.sets(g, e.by, e.at)
}

func (x *errander) add(g int32, from, to int64, spans []int32) {
	if len(spans) > 0 {
		x.errands[g] = append(x.errands[g], errand{from, to, x.b.setFor(spans)})
	}
}

// waited reports whether a goroutine waited for another one after a time, and began to before another time.
func (x *errander) waited(g int32, after, before int64) bool {
	n, _ := slices.BinarySearchFunc(x.g[g].waits, after, func(w awaiting, at int64) int { return cmp.Compare(w.to, at) })
	return n < len(x.g[g].waits) && x.g[g].waits[n].from < before
}

// runErrands gives what is done on errands to the regions that it is done for.
func (p *program) runErrands() {
	for l, errands := range p.errands {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.set != 0 || o.kind != opRun && (o.kind != opOut || o.reason != waitTimer && o.reason != waitNetwork) {
				continue
			}
			n, _ := slices.BinarySearchFunc(errands, o.at, func(e errand, at int64) int { return cmp.Compare(e.to, at) })
			if n < len(errands) && errands[n].from < o.at {
				o.set = errands[n].set
			}
		}
	}
}
