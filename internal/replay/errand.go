package replay

import (
	"cmp"
	"math"
	"slices"
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
	sent    [][]*letter // by goroutine: what it writes, in order of time
	came    [][]*letter // by goroutine: what it reads, in order of time
}

// A letter is what one goroutine writes to a connection and another one waits for.
type letter struct {
	from, to    int32
	written, at int64   // when it has come
	spans       []int32 // that were open when it was written
}

// A helper is a goroutine, with spans or without.
type helper struct {
	spanned bool
	open    []int32 // spans: its own, or those that it may be at work for
	since   int64   // when it began with that
	begun   int64   // when it began to wait for another goroutine, 0 if it does not
	reading int64   // when it began to wait for the network
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
		sent: make([][]*letter, rec.count), came: make([][]*letter, rec.count),
	}
	for i := range b.p.letters {
		l := &b.p.letters[i]
		x.sent[l.from], x.came[l.to] = append(x.sent[l.from], l), append(x.came[l.to], l)
	}
	for _, all := range x.sent {
		slices.SortStableFunc(all, func(a, b *letter) int { return cmp.Compare(a.written, b.written) })
	}
	for i := range rec.events {
		switch e := &rec.events[i]; e.kind {
		case evOpen:
			x.g[e.g].spanned = true
		case evClose:
			x.closed[e.ref] = e.at
		}
	}
	for i := range rec.events {
		rec.restsAt(i)
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
	case evSyscall:
		x.writes(g, e)
	case evWait:
		g.reading = e.at
		if e.arg != waitTimer && e.arg != waitNetwork && !x.b.has(e.site, ofRuntime) && !x.b.has(e.site, admission) {
			g.begun = e.at
			x.over(e)
		}
	case evEnd:
		x.over(e)
	case evReady:
		if l := at(&x.came[e.g], e.at, func(l *letter) int64 { return l.at }); l != nil {
			x.reads(g, l)
		}
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
		g.since, g.open = at, x.open(&x.g[by], at)
	}
}

// open returns the spans of a goroutine that are still open at a time.
func (x *errander) open(g *helper, at int64) []int32 {
	return slices.DeleteFunc(slices.Clone(g.open), func(s int32) bool { return x.closed[s] < at })
}

// writes deals with a goroutine that may write a letter: a request, or the answer to one, with which a server has done its errand.
func (x *errander) writes(g *helper, e *event) {
	l := at(&x.sent[e.g], e.at, func(l *letter) int64 { return l.written })
	if l == nil {
		return
	}
	l.spans = x.open(g, e.at)
	if !g.spanned && len(l.spans) > 0 {
		x.later = append(x.later, pending{e.g, g.since, e.at, l.spans})
		g.since = e.at
	}
}

// reads deals with a goroutine that has a letter.
func (x *errander) reads(g *helper, l *letter) {
	if g.spanned {
		g.waits = append(g.waits, awaiting{g.reading, l.at})
		return
	}
	g.since, g.open = l.at, slices.DeleteFunc(slices.Clone(l.spans), func(s int32) bool { return x.closed[s] < l.at })
}

// at takes the letter of a time out of those of a goroutine, and those before; nil if there is none.
func at(letters *[]*letter, at int64, of func(*letter) int64) *letter {
	for len(*letters) > 0 && of((*letters)[0]) <= at {
		l := (*letters)[0]
		*letters = (*letters)[1:]
		if of(l) == at {
			return l
		}
	}
	return nil
}

// over ends what a goroutine without spans did, for spans that are still open.
func (x *errander) over(e *event) {
	g := &x.g[e.g]
	if g.spanned {
		return
	}
	if spans := x.open(g, e.at); len(spans) > 0 {
		x.later = append(x.later, pending{e.g, g.since, e.at, spans})
	}
	g.open, g.since = nil, e.at
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
