package replay

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// shortSyscall is below which a system call is taken for computing: sysmon leaves the processor to it for that long, ns.
const shortSyscall = 20_000

// A builder follows all goroutines through the events.
type builder struct {
	p              *program
	g              []follower
	running        int
	stopped        map[int32]int64 // when processors last became idle
	objects        []int32         // the program's number of each object, -1 for none yet
	levels         []level
	classes        [][frameClasses]bool // of sites
	dead           []bool               // tokens that no goroutine waits for any more
	setOf          map[string]uint16
	within         map[nesting]uint16
	owner          []int32 // of each span: the goroutine that began it
	waited         []op    // scratch of fold
	computed       []op    // scratch of fold
	set            []int32 // scratch of setFor
	key            []byte  // scratch of setFor
	swap           []int64
	short, free    int64           // when a processor was last without a goroutine, and when one was last idle
	poll           int64           // when the network was last looked at, and there was something
	pollBefore     int64           // and the time before
	given          map[int32]int64 // when processors were last given to goroutines
	overdue        []overdue
	fillers        map[int32]*filler
	closings       map[int32]place // of channels, by the recording's number
	latecomers     []latecomer
	cross, outside []lateness
	excluders      map[int32]int32 // objects, by the locks around spans that may exclude each other
}

// A level follows what an object holds, to find what it held at first.
type level struct {
	now, low   int32
	writers    int32
	full       int32 // what it must have held at first since a sender found it full, -1 if none did
	sends      int32
	heldEvents int32
	released   int64 // when a lock that was held at first was released
	busy       busy
}

// A follower is a goroutine while its events are read.
type follower struct {
	known    bool
	state    uint8
	since    int64
	p        int32 // the processor it runs on
	site     int32
	reason   uint8
	readyAt  int64
	readyP   int32 // processor of the goroutine that woke it, -1
	idle     bool  // a processor was, when it became ready
	woken    int32 // op that ended by that, -1
	spans    []int32
	sets     []uint16 // of the spans around each of these, someSet where that is not known
	set      uint16
	locks    map[int32]int32
	held     int32
	excludes map[int32]int32 // spans, by the lock around them
	begun    int64
	began    int64 // when it was last given a processor
	found    int32 // elements, when it began to send
	open     int32 // op where an operation began that may wait, -1
	what     mark.Op
	object   int32
	first    bool // no operation has been seen yet
}

// The states of a goroutine.
const (
	unknown = iota
	running
	runnable
	waiting
	inSyscall
	gone
)

func newBuilder(rec *Recording) *builder {
	n := int(rec.count)
	b := &builder{
		p: &program{rec: rec, lists: make([]list, n), sets: [][]int32{nil}, segments: make([]place, 1)}, g: make([]follower, n),
		stopped: map[int32]int64{}, given: map[int32]int64{}, objects: slices.Repeat([]int32{-1}, int(rec.objects)), setOf: map[string]uint16{"": 0}, closings: map[int32]place{}, within: map[nesting]uint16{}, owner: make([]int32, len(rec.spans)),
	}
	b.fillers = rec.fillers()
	for i, n := range rec.opsOf() {
		b.p.lists[i].ops = make([]op, 0, n)
	}
	for i := range b.g {
		b.p.lists[i].serves = -1
		b.g[i] = follower{open: -1, woken: -1, since: rec.Start, p: -1, readyP: -1, first: true}
	}
	return b
}

// opsOf returns how many ops each goroutine's list has at most, or little more: what it does is an op, and the computing before it is
// one.
func (r *Recording) opsOf() []int32 {
	n := make([]int32, r.count)
	for i := range r.events {
		r.restsAt(i)
		e := &r.events[i]
		switch e.kind {
		case evOpen, evClose, evVisit, evOperate, evSyscall:
			n[e.g] += 2
		case evReady, evWait, evEnd:
			n[e.g]++
		}
		if e.by >= 0 {
			n[e.by] += 2
		}
	}
	return n
}

func (b *builder) emit(g int32, o op) int32 {
	f, l := &b.g[g], &b.p.lists[g]
	o.set = f.set
	o.loose = f.held == 0 && f.open < 0
	o.free = o.loose && len(f.spans) == 0
	l.ops = append(l.ops, o)
	return int32(len(l.ops) - 1)
}

// advance books what the goroutine has done since the last event.
func (b *builder) advance(g int32, at int64) {
	f := &b.g[g]
	d := at - f.since
	f.since = at
	if d <= 0 {
		return
	}
	switch f.state {
	case running:
		b.compute(g, d, at)
	case inSyscall:
		if d < shortSyscall {
			b.compute(g, d, at)
		} else {
			b.emit(g, op{kind: opOut, d: d, at: at, late: -1, reason: waitOther})
		}
	}
}

func (b *builder) compute(g int32, d, at int64) {
	l := &b.p.lists[g]
	if n := len(l.ops); n > 0 && int(b.g[g].open) < n {
		if last := &l.ops[n-1]; last.kind == opRun && last.set == b.g[g].set {
			last.d += d
			last.at = at
			return
		}
	}
	b.emit(g, op{kind: opRun, d: d, at: at})
}

func (b *builder) enter(g int32, state uint8) {
	f := &b.g[g]
	if f.state == running && state != running {
		b.running--
		b.stopped[f.p] = f.since
	}
	if state == running && f.state != running {
		b.running++
	}
	f.state = state
}

func (b *builder) event(e *event) {
	g := e.g
	f := &b.g[g]
	f.known = true
	switch e.kind {
	case evExists:
		b.exists(g, e)
	case evCreate:
		b.create(g, e)
	case evReady:
		if f.state == inSyscall {
			b.advance(g, e.at)
			b.ready(g, e, -1)
			return
		}
		b.wakeUp(g, e)
	case evStart:
		if l := &b.p.lists[g]; l.begins.at == 0 {
			l.begins.at = e.at
		}
		b.started(g, e)
	case evYield:
		if l := &b.p.lists[g]; l.begins.at == 0 && l.begins.state == running {
			l.begins.slice = e.at - b.p.rec.Start
		}
		b.advance(g, e.at)
		b.yielded(g, e.at)
		b.enter(g, runnable)
		f.readyAt, f.woken, f.idle, f.readyP = e.at, -1, false, -1
	case evWait:
		b.advance(g, e.at)
		b.enter(g, waiting)
		f.site, f.reason = e.site, uint8(e.arg)
	case evSyscall:
		b.enterSyscall(g, e)
	case evReturn:
		b.advance(g, e.at)
		f.p = e.arg
		b.enter(g, running)
	case evEnd:
		b.advance(g, e.at)
		b.enter(g, gone)
		b.p.lists[g].ended = true
	case evOpen:
		b.advance(g, e.at)
		b.open(g, e)
	case evClose:
		b.advance(g, e.at)
		b.close(g, e)
	case evVisit:
		b.advance(g, e.at)
		b.emit(g, op{kind: opVisit, arg: e.ref, at: e.at})
	case evSample:
		b.p.samples = append(b.p.samples, sampled{g, f.set, e.site})
	case evOperate:
		b.advance(g, e.at)
		b.operate(g, e)
	}
}

// exists notes what a goroutine does when the window begins.
func (b *builder) exists(g int32, e *event) {
	f := &b.g[g]
	f.since = e.at
	switch e.arg {
	case stateRunning:
		b.enter(g, running)
	case stateRunnable:
		b.enter(g, runnable)
		f.readyAt, f.woken = e.at, -1
	case stateSyscall:
		b.enter(g, inSyscall)
	default:
		b.enter(g, waiting)
		f.since, f.site, f.reason = b.p.rec.Start, e.site, uint8(e.ref)
	}
	b.p.lists[g].begins.state = f.state
}

// create begins a goroutine that another one or the runtime starts.
func (b *builder) create(g int32, e *event) {
	f, l := &b.g[g], &b.p.lists[g]
	l.born, l.site, l.gc = true, e.site, b.p.rec.idleGC[g]
	f.since, f.readyAt, f.woken, f.readyP = e.at, e.at, -1, -1
	f.idle = b.running < b.p.rec.Procs
	b.enter(g, runnable)
	l.spawned, l.created = place{-1, -1}, e.at
	if e.by >= 0 {
		b.advance(e.by, e.at)
		f.readyP = b.g[e.by].p
		b.emit(e.by, op{kind: opSpawn, arg: g, at: e.at, late: -1})
	}
}

// enterSyscall begins a system call, and marks it if it writes to the network.
func (b *builder) enterSyscall(g int32, e *event) {
	b.advance(g, e.at)
	if b.has(e.site, netWriter) {
		b.p.writes = true
		b.emit(g, op{kind: opWrite, at: e.at, site: e.site})
	}
	b.enter(g, inSyscall)
}

// open begins a span.
func (b *builder) open(g int32, e *event) {
	f := &b.g[g]
	b.excludes(g, e.ref, 1, e.at)
	f.spans, f.sets = append(f.spans, e.ref), append(f.sets, f.set)
	b.owner[e.ref] = g
	b.emit(g, op{kind: opOpen, arg: e.ref, at: e.at})
	f.set = b.setWithin(f)
}

// close ends a span, on the goroutine that began it or another one.
func (b *builder) close(g int32, e *event) {
	owner := b.owner[e.ref]
	if owner != g {
		b.advance(owner, e.at)
	}
	f := &b.g[owner]
	if i := slices.Index(f.spans, e.ref); i >= 0 {
		last := i == len(f.spans)-1
		f.set = f.sets[i]
		f.spans, f.sets = slices.Delete(f.spans, i, i+1), slices.Delete(f.sets, i, i+1)
		if !last || f.set == someSet {
			f.set = b.setFor(f.spans)
		}
		for ; i < len(f.sets); i++ {
			f.sets[i] = someSet
		}
	}
	b.emit(g, op{kind: opClose, arg: e.ref, at: e.at})
	b.excludes(owner, e.ref, -1, e.at)
}

// A nesting is a region whose span begins within those of a set.
type nesting struct {
	set    uint16
	region int32
}

// someSet is the number of no set.
const someSet = 1<<16 - 1

// setWithin returns the set of the spans of a goroutine that has just begun one.
func (b *builder) setWithin(f *follower) uint16 {
	if f.set == 0 && len(f.spans) > 1 { // the set around it has no number
		return b.setFor(f.spans)
	}
	n := nesting{f.set, b.p.rec.spans[f.spans[len(f.spans)-1]].region}
	set, ok := b.within[n]
	if !ok {
		set = b.setFor(f.spans)
		b.within[n] = set
	}
	return set
}

// setFor returns the number of the set of regions of some spans.
func (b *builder) setFor(open []int32) uint16 {
	if len(open) == 0 {
		return 0
	}
	set := b.set[:0]
	for _, s := range open {
		set = append(set, b.p.rec.spans[s].region)
	}
	slices.Sort(set)
	b.set = set
	set = slices.Compact(set)
	key := b.key[:0]
	for _, r := range set {
		key = append(key, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
	}
	b.key = key
	i, ok := b.setOf[string(key)]
	if !ok {
		if len(b.p.sets) == someSet {
			return 0
		}
		i = uint16(len(b.p.sets))
		b.p.sets = append(b.p.sets, slices.Clone(set))
		b.setOf[string(key)] = i
	}
	return i
}

// wakeUp ends a wait.
func (b *builder) wakeUp(g int32, e *event) {
	f := &b.g[g]
	o := op{at: e.at, site: f.site, d: e.at - f.since, late: -1, reason: f.reason}
	drips := e.by >= 0 && b.p.rec.drippers[e.by] && (b.has(e.site, trySender) || b.has(e.site, teller)) // see unlimited
	switch {
	case drips:
		o.kind, o.reason = opOut, waitMutex
	case e.by >= 0 && !b.outsiders(g, e):
		b.advance(e.by, e.at)
		o.kind, o.arg = opWait, b.p.tokens
		b.p.tokens++
		b.dead = append(b.dead, false)
		b.emit(e.by, op{kind: opWake, arg: o.arg, at: e.at, site: e.site, reason: f.reason})
	default:
		o.kind = opOut
	}
	f.since = e.at
	woken := b.emit(g, o)
	if drips {
		b.p.lists[g].ops[woken].set = 0 // nothing makes that shorter
	}
	b.noteOverdue(g, woken, e)
	b.ready(g, e, woken)
}

func (b *builder) ready(g int32, e *event, woken int32) {
	f := &b.g[g]
	f.readyAt, f.woken, f.readyP = e.at, woken, -1
	f.idle = b.running < b.p.rec.Procs
	if e.by >= 0 {
		f.readyP = b.g[e.by].p
	}
	f.since = e.at
	b.enter(g, runnable)
}

// started books how long the goroutine was ready before it ran.
func (b *builder) started(g int32, e *event) {
	f := &b.g[g]
	late := e.at - f.readyAt
	if f.state == runnable {
		stop, known := b.stopped[e.arg]
		busy := known && f.readyAt < stop
		if gap := e.at - stop; busy && gap >= 0 && gap < 50_000 {
			b.swap = append(b.swap, gap)
		}
		busy = busy || f.readyP == e.arg
		switch x := (lateness{late, busy}); {
		case !f.idle:
		case f.readyP < 0:
			b.outside = append(b.outside, x)
			b.setLate(g, x)
		default:
			b.cross = append(b.cross, x)
			b.setLate(g, x)
		}
	}
	f.since, f.p, f.began = e.at, e.arg, e.at
	b.given[e.arg] = e.at
	b.enter(g, running)
}

func (b *builder) setLate(g int32, late lateness) {
	if w := b.g[g].woken; w >= 0 && int(w) < len(b.p.lists[g].ops) {
		b.p.lists[g].ops[w].late = int32(min(late.ns, 1<<30))
		if late.censored {
			b.p.lists[g].ops[w].late = lateCensored(late.ns)
		}
	}
}
