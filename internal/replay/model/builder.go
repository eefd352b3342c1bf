package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// ShortSyscall is below which a system call is taken for computing: sysmon leaves the processor to
// it for that long, ns, one of its ticks (runtime/proc.go, retake). A longer one is a wait outside.
// It frees the processor from its beginning on, though in truth sysmon frees it a tick later.
const ShortSyscall = 20_000

// A Builder follows all goroutines through the events, in order of time, each as a state machine
// whose changes are those of trace.Transitions. It writes what a goroutine did between two events
// behind the list when the second one comes: Advance, and then what the event itself is.
type Builder struct {
	P              *Program
	G              []follower
	machines       []Machine       // one for each process of the recording
	homes          []int32         // the process of each goroutine, nil where there is only one
	stopped        map[int32]int64 // when processors last became idle, by number
	objects        []int32         // the program's number of each object, -1 for none yet
	Levels         []level
	classes        [][trace.FrameClasses]bool // of sites
	Dead           []bool                     // tokens that no goroutine waits for any more
	setOf          map[string]uint16
	within         map[nesting]uint16
	owner          []int32 // of each span: the goroutine that began it
	waited         []Op    // scratch of fold
	computed       []Op    // scratch of fold
	set            []int32 // scratch of SetFor
	key            []byte  // scratch of SetFor
	Swap           []int64
	given          map[int32]int64 // when processors were last given to goroutines
	overdue        []overdue
	fillers        map[int32]*filler
	closings       map[int32]Place // of channels, by the recording's number
	Latecomers     []latecomer
	knows          map[receiver]bool // that a channel is closed
	cross, Outside []Lateness
	excluders      map[int32]int32 // objects, by the locks around spans that may exclude each other
}

// A level follows what an object holds, to find what it held at first: see book. It counts from 0.
type level struct {
	Now, Low   int32 // elements, readers or the count of a wait group: now, and the lowest yet
	lowAt      int64 // when a receive last made that lower
	holder     int32 // the goroutine that last took a lock alone, from 1; 0 for none
	writers    int32
	Full       int32 // what it must have held at first since a sender found it full, -1 if none did
	Exact      bool  // it held as much as that, and not more
	Sends      int32
	heldEvents int32 // how often a writer has taken it, or given it back
	released   int64 // when a lock that was held at first was released
	Busy       busy
}

// A follower is a goroutine while its events are read.
type follower struct {
	State    uint8
	since    int64 // up to when its list is written, or when its wait began
	p        int32 // the processor it runs on, -1 if it has run since before the window
	site     int32 // where it waits, and for what
	reason   uint8
	readyAt  int64
	readyP   int32 // processor of the goroutine that woke it, -1
	idle     bool  // a processor was, when it became ready
	woken    int32 // op that ended by that, -1
	spans    []int32
	sets     []uint16 // of the spans around each of these, someSet where that is not known
	set      uint16
	locks    map[int32]int32 // how often it has each object
	held     int32           // locks in all
	excludes map[int32]int32 // spans, by the lock around them
	begun    int64           // when that operation began
	began    int64           // when it was last given a processor
	found    int32           // elements, when it began to send
	open     int32           // op where an operation began that may wait, -1
	what     mark.Op
	object   int32
	first    bool // no operation has been seen yet
	called   bool // nothing in the program has started it, as what timers call
}

// The states of a goroutine.
const (
	unknown = iota
	Running
	runnable
	Waiting
	InSyscall
	gone
)

// NewBuilder returns a builder of the program that a recording shows.
func NewBuilder(rec *trace.Recording) *Builder {
	n := int(rec.Count)
	b := &Builder{
		P:       &Program{Rec: rec, Lists: slices.Repeat([]List{{Serves: -1}}, n), Sets: [][]int32{nil}, Segments: make([]Place, 1), Stations: make([]Station, 1)},
		G:       slices.Repeat([]follower{{open: -1, woken: -1, since: rec.Start, p: -1, readyP: -1, first: true}}, n),
		stopped: map[int32]int64{}, given: map[int32]int64{}, objects: slices.Repeat([]int32{-1}, int(rec.Objects)), setOf: map[string]uint16{"": 0}, closings: map[int32]Place{}, knows: map[receiver]bool{}, within: map[nesting]uint16{}, owner: slices.Repeat([]int32{-1}, len(rec.Spans)),
		classes: trace.BySite(rec.Sites, trace.Classify),
	}
	b.machines, b.homes = []Machine{{procs: rec.Procs}}, rec.Homes()
	for i, p := range rec.Processes {
		b.machines = append(b.machines[:i], Machine{procs: p.Procs})
	}
	b.fillers = fillers(rec)
	for i, n := range opsOf(rec) {
		b.P.Lists[i].Ops = make([]Op, 0, n)
	}
	return b
}

// opsOf returns how many ops each goroutine's list has at most, or little more: what it does is an
// op, and the computing before it is one.
func opsOf(r *trace.Recording) []int32 {
	n := make([]int32, r.Count)
	for e := range r.All() {
		switch e.Kind {
		case trace.EvOpen, trace.EvClose, trace.EvVisit, trace.EvOperate, trace.EvSyscall:
			n[e.G] += 2
		case trace.EvReady, trace.EvWait, trace.EvEnd:
			n[e.G]++
		}
		if e.By >= 0 {
			n[e.By] += 2
		}
	}
	return n
}

// emit adds an op to a list, with the regions and locks of its goroutine as they are now, and
// returns its place. A list can begin anew behind it if that leaves no lock and no operation open.
func (b *Builder) emit(g int32, o Op) int32 {
	f, l := &b.G[g], &b.P.Lists[g]
	o.Set = f.set
	o.Loose = f.held == 0 && f.open < 0
	o.Free = o.Loose && len(f.spans) == 0
	l.Ops = append(l.Ops, o)
	return int32(len(l.Ops) - 1)
}

// Advance books what the goroutine has done since the last event. What it waits for is booked when
// the wait is over, from the last call on.
func (b *Builder) Advance(g int32, at int64) {
	f := &b.G[g]
	d := at - f.since
	f.since = at
	if d <= 0 {
		return
	}
	switch f.State {
	case Running:
		b.compute(g, d, at)
	case InSyscall:
		if d < ShortSyscall {
			b.compute(g, d, at)
		} else {
			// Its thread has kept its processor, or takes an idle one (exitsyscall).
			b.emit(g, Op{Kind: OpOut, D: d, At: at, Late: 0, Reason: trace.WaitOther})
		}
	}
}

// compute adds d ns of computing: to the op before if that is for the same regions, and no
// operation began in between, which takes all ops behind its beginning.
func (b *Builder) compute(g int32, d, at int64) {
	l := &b.P.Lists[g]
	if n := len(l.Ops); n > 0 && int(b.G[g].open) < n {
		if last := &l.Ops[n-1]; last.Kind == OpRun && last.Set == b.G[g].set {
			last.D += d
			last.At = at
			return
		}
	}
	b.emit(g, Op{Kind: OpRun, D: d, At: at})
}

func (b *Builder) enter(g int32, state uint8) {
	f := &b.G[g]
	if f.State == Running && state != Running {
		b.Machine(g).Running--
		b.stopped[f.p] = f.since
	}
	if state == Running && f.State != Running {
		b.Machine(g).Running++
	}
	f.State = state
}

// Event takes the next event.
func (b *Builder) Event(e *trace.Event) {
	g := e.G
	f := &b.G[g]
	switch e.Kind {
	case trace.EvExists:
		b.exists(g, e)
	case trace.EvCreate:
		b.create(g, e)
	case trace.EvReady:
		// Back from a system call that lost its processor: no wait has ended, and none is written.
		if f.State == InSyscall {
			b.Advance(g, e.At)
			b.ready(g, e, -1)
			return
		}
		b.wakeUp(g, e)
	case trace.EvStart:
		if l := &b.P.Lists[g]; l.Begins.At == 0 {
			l.Begins.At = e.At
		}
		b.started(g, e)
	case trace.EvYield:
		if l := &b.P.Lists[g]; l.Begins.At == 0 && l.Begins.State == Running {
			l.Begins.Slice = e.At - b.P.Rec.Start
		}
		b.Advance(g, e.At)
		b.yielded(g, e.At)
		b.enter(g, runnable)
		f.readyAt, f.woken, f.idle, f.readyP = e.At, -1, false, -1
	case trace.EvWait:
		b.Advance(g, e.At)
		b.enter(g, Waiting)
		f.site, f.reason = e.Site, uint8(e.Arg)
	case trace.EvSyscall:
		b.enterSyscall(g, e)
	case trace.EvReturn:
		b.Advance(g, e.At)
		f.p = e.Arg
		b.enter(g, Running)
	case trace.EvIdle: // like a system call: it goes on, and the processor is there for others
		b.Advance(g, e.At)
		b.enter(g, InSyscall)
	case trace.EvEnd:
		b.Advance(g, e.At)
		b.enter(g, gone)
		b.P.Lists[g].Ended = true
	case trace.EvOpen, trace.EvClose, trace.EvVisit:
		b.Advance(g, e.At)
		b.selected(g)
		b.annotation(g, e)
	case trace.EvSample:
		b.P.Samples = append(b.P.Samples, sampled{g, f.set, e.Site})
	case trace.EvOperate:
		b.Advance(g, e.At)
		b.operate(g, e)
	}
}

// annotation books the begin or end of a span, or a visit.
func (b *Builder) annotation(g int32, e *trace.Event) {
	switch e.Kind {
	case trace.EvOpen:
		b.open(g, e)
	case trace.EvClose:
		b.close(g, e)
	default:
		b.emit(g, Op{Kind: OpVisit, Arg: e.Ref, At: e.At})
	}
}

// selected notes that a select statement is over which the goroutine may have been in: it took a
// case whose channel has no marks, and the goroutine does something else.
func (b *Builder) selected(g int32) {
	if f := &b.G[g]; f.open >= 0 && f.what == mark.Select.Beginning() {
		f.open = -1
	}
}

// exists notes what a goroutine does when the window begins.
func (b *Builder) exists(g int32, e *trace.Event) {
	f := &b.G[g]
	f.since = e.At
	switch e.Arg {
	case trace.StateRunning:
		b.enter(g, Running)
	case trace.StateRunnable:
		b.enter(g, runnable)
		f.readyAt, f.woken = e.At, -1
	case trace.StateSyscall:
		b.enter(g, InSyscall)
	default:
		b.enter(g, Waiting)
		f.since, f.site, f.reason = b.P.Rec.Start, e.Site, uint8(e.Ref)
	}
	b.P.Lists[g].Begins.State = f.State
}

// create begins a goroutine that another one or the runtime starts.
func (b *Builder) create(g int32, e *trace.Event) {
	f, l := &b.G[g], &b.P.Lists[g]
	l.Born, l.Site = true, e.Site
	f.since, f.readyAt, f.woken, f.readyP = e.At, e.At, -1, -1
	f.idle = b.Machine(g).idle()
	b.enter(g, runnable)
	l.Spawned, l.Created = Place{-1, -1}, e.At
	f.called = e.By < 0
	if e.By >= 0 {
		b.Advance(e.By, e.At)
		f.readyP = b.G[e.By].p
		b.emit(e.By, Op{Kind: OpSpawn, Arg: g, At: e.At, Late: -1})
	}
}

// enterSyscall begins a system call, and marks it if it writes to the network.
func (b *Builder) enterSyscall(g int32, e *trace.Event) {
	b.Advance(g, e.At)
	if b.Has(e.Site, trace.NetWriter) {
		b.P.Writes = true
		b.emit(g, Op{Kind: OpWrite, At: e.At, Site: e.Site})
	}
	b.enter(g, InSyscall)
}

// open begins a span.
func (b *Builder) open(g int32, e *trace.Event) {
	f := &b.G[g]
	b.excludes(g, e.Ref, 1, e.At)
	f.spans, f.sets = append(f.spans, e.Ref), append(f.sets, f.set)
	b.owner[e.Ref] = g
	b.emit(g, Op{Kind: OpOpen, Arg: e.Ref, At: e.At})
	f.set = b.setWithin(f)
}

// close ends a span, on the goroutine that began it or another one.
func (b *Builder) close(g int32, e *trace.Event) {
	owner := b.owner[e.Ref]
	if owner < 0 { // the span began where the recording has nothing of it
		owner = g
	}
	if owner != g && b.G[owner].State != Waiting { // a wait is booked whole, when it is over
		b.Advance(owner, e.At)
	}
	f := &b.G[owner]
	if i := slices.Index(f.spans, e.Ref); i >= 0 {
		// The set around the last span is known. Behind a span that ends out of turn the sets have
		// one region less, and are looked up when they are needed.
		last := i == len(f.spans)-1
		f.set = f.sets[i]
		f.spans, f.sets = slices.Delete(f.spans, i, i+1), slices.Delete(f.sets, i, i+1)
		if !last || f.set == someSet {
			f.set = b.SetFor(f.spans)
		}
		for ; i < len(f.sets); i++ {
			f.sets[i] = someSet
		}
	}
	b.emit(g, Op{Kind: OpClose, Arg: e.Ref, At: e.At})
	b.excludes(owner, e.Ref, -1, e.At)
}

// A nesting is a region whose span begins within those of a set.
type nesting struct {
	set    uint16
	region int32
}

// someSet is the number of no set: sets have 16 bits. Time of a set beyond is of no region.
const someSet = 1<<16 - 1

// setWithin returns the set of the spans of a goroutine that has just begun one.
func (b *Builder) setWithin(f *follower) uint16 {
	if f.set == 0 && len(f.spans) > 1 { // the set around it has no number
		return b.SetFor(f.spans)
	}
	n := nesting{f.set, b.P.Rec.Spans[f.spans[len(f.spans)-1]].Region}
	set, ok := b.within[n]
	if !ok {
		set = b.SetFor(f.spans)
		b.within[n] = set
	}
	return set
}

// SetFor returns the number of the set of regions of some spans, in the order in which they began.
func (b *Builder) SetFor(open []int32) uint16 {
	if len(open) == 0 {
		return 0
	}
	set := b.set[:0]
	for _, s := range open {
		set = append(set, b.P.Rec.Spans[s].Region)
	}
	innermost := set[len(set)-1]
	slices.Sort(set)
	b.set = set
	set = slices.Compact(set)
	at, _ := slices.BinarySearch(set, innermost)
	copy(set[1:at+1], set[:at])
	set[0] = innermost
	key := b.key[:0]
	for _, r := range set {
		key = append(key, byte(r), byte(r>>8), byte(r>>16), byte(r>>24))
	}
	b.key = key
	i, ok := b.setOf[string(key)]
	if !ok {
		if len(b.P.Sets) == someSet {
			return 0
		}
		i = uint16(len(b.P.Sets))
		b.P.Sets = append(b.P.Sets, slices.Clone(set))
		b.setOf[string(key)] = i
	}
	return i
}

// wakeUp ends a wait: by a goroutine, as a token that both sides have, or by something outside, as
// a wait that lasts as long as it did. What a dripper ends is of the second kind, in the program in
// which waits for tokens are as long as they were: see Buckets.Unlimited in package doubt.
func (b *Builder) wakeUp(g int32, e *trace.Event) {
	f := &b.G[g]
	o := Op{At: e.At, Site: f.site, D: e.At - f.since, Late: -1, Reason: f.reason}
	drips := e.By >= 0 && b.P.Rec.Drippers[e.By] && (b.Has(e.Site, trace.TrySender) || b.Has(e.Site, trace.Teller))
	switch {
	case drips:
		o.Kind, o.Reason = OpOut, trace.WaitMutex
	case e.By >= 0 && !trace.EndsOutside(int32(f.reason), b.classes[f.site], b.classes[e.Site]):
		b.Advance(e.By, e.At)
		o.Kind, o.Arg = OpWait, b.P.Tokens
		b.P.Tokens++
		b.Dead = append(b.Dead, false)
		b.emit(e.By, Op{Kind: OpWake, Arg: o.Arg, At: e.At, Site: e.Site, Reason: f.reason})
	default:
		o.Kind = OpOut
	}
	f.since = e.At
	woken := b.emit(g, o)
	if drips {
		b.P.Lists[g].Ops[woken].Set = 0 // nothing makes that shorter
	}
	b.noteOverdue(g, woken, e)
	b.ready(g, e, woken)
}

func (b *Builder) ready(g int32, e *trace.Event, woken int32) {
	f := &b.G[g]
	f.readyAt, f.woken, f.readyP = e.At, woken, -1
	f.idle = b.Machine(g).idle()
	if e.By >= 0 {
		f.readyP = b.G[e.By].p
	}
	f.since = e.At
	b.enter(g, runnable)
}

// started books how long the goroutine was ready before it ran, if a processor was idle then: see
// Lateness. A processor that was busy at that time, or woke the goroutine itself, censors it.
func (b *Builder) started(g int32, e *trace.Event) {
	f := &b.G[g]
	late := e.At - f.readyAt
	if f.State == runnable {
		// Busy: this processor had another goroutine when this one became ready. From that one's
		// end to this one's start is what a change of goroutines takes, unless it slept in between.
		stop, known := b.stopped[e.Arg]
		busy := known && f.readyAt < stop
		if gap := e.At - stop; busy && gap >= 0 && gap < 50_000 {
			b.Swap = append(b.Swap, gap)
		}
		busy = busy || f.readyP == e.Arg
		switch x := (Lateness{late, busy}); {
		case !f.idle:
		case f.readyP < 0:
			b.Outside = append(b.Outside, x)
			b.setLate(g, x)
		default:
			b.cross = append(b.cross, x)
			b.setLate(g, x)
		}
	}
	f.since, f.p, f.began = e.At, e.Arg, e.At
	b.given[e.Arg] = e.At
	b.enter(g, Running)
}

func (b *Builder) setLate(g int32, late Lateness) {
	if w := b.G[g].woken; w >= 0 && int(w) < len(b.P.Lists[g].Ops) {
		b.P.Lists[g].Ops[w].Late = int32(min(late.Ns, 1<<30))
		if late.censored {
			b.P.Lists[g].Ops[w].Late = lateCensored(late.Ns)
		}
	}
}

// NewObject returns the number of an object that no mark shows: what takes the place of a condition
// variable, a rate limiter, a lock around spans.
func (b *Builder) NewObject(o ObjectInfo) int32 {
	o.Inferred = true
	b.P.Objects = append(b.P.Objects, o)
	b.Levels = append(b.Levels, level{Full: -1})
	return int32(len(b.P.Objects) - 1)
}
