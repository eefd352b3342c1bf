package trace

import (
	"fmt"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// A Recorder interns: the caller's numbers and names become indices that count from 0, in the order
// of first use, so that all later work indexes slices. A [Tracer] fills one from a trace; tests
// write one by hand, as a script of what goroutines do:
//
//	b := NewRecorder(0, 1)   // from time 0 on, one processor
//	b.Running(0, 1)          // goroutine 1 is there and runs
//	b.Open(10, 1, 7, 0, r)   // span 7 of region r, without a parent
//	b.Wait(20, 1, 1)         // it waits at place 1
//	b.Ready(50, 1, -1)       // something outside ends that
//	b.Start(55, 1, 0)        // it runs on processor 0, 5 ns later
//	b.Close(60, 1, 7)
//	rec := b.Recording(100)
//
// Event times are in ns and must not decrease. Goroutines, spans and objects have numbers of the
// caller's, objects not 0. The states are not checked: a goroutine that starts twice is recorded
// so.

// Running records a goroutine that is there and runs when the recording begins.
func (b *Recorder) Running(at, g int64) { b.exists(at, g, StateRunning) }

// Runnable records a goroutine that is there when the recording begins and is ready to run.
func (b *Recorder) Runnable(at, g int64) { b.exists(at, g, StateRunnable) }

// Waiting records a goroutine that is there and waits when the recording begins.
func (b *Recorder) Waiting(at, g int64) { b.exists(at, g, StateWaiting) }

func (b *Recorder) exists(at, g int64, state int32) {
	b.Add(Event{Kind: EvExists, At: at, G: b.Goroutine(g), By: NoWaker, Arg: state})
}

// Create records that a goroutine was created, by another one or, with by < 0, by something
// outside, and is ready to run. The function that it begins with is not known: site 0.
func (b *Recorder) Create(at, g, by int64) {
	b.Add(Event{Kind: EvCreate, At: at, G: b.Goroutine(g), By: b.Waker(by)})
}

// Start records that a goroutine that was ready runs on a processor, a number from 0.
func (b *Recorder) Start(at, g, processor int64) {
	b.Add(Event{Kind: EvStart, At: at, G: b.Goroutine(g), By: NoWaker, Arg: int32(processor)})
}

// Yield records that a goroutine no longer runs, though it could.
func (b *Recorder) Yield(at, g int64) {
	b.Add(Event{Kind: EvYield, At: at, G: b.Goroutine(g), By: NoWaker})
}

// Wait records that a goroutine no longer runs since it waits, at a place in the program that has a
// number from 1.
func (b *Recorder) Wait(at, g, place int64) {
	b.Add(Event{Kind: EvWait, At: at, G: b.Goroutine(g), By: NoWaker, Site: b.Place(place)})
}

// Choose is Wait in a select statement. Wait itself has the reason WaitOther.
func (b *Recorder) Choose(at, g, place int64) {
	b.Add(Event{Kind: EvWait, At: at, G: b.Goroutine(g), By: NoWaker, Site: b.Place(place), Arg: WaitSelect})
}

// Ready records that a goroutine need not wait any more: another one or, with by < 0, something
// outside woke it, such as a timer.
func (b *Recorder) Ready(at, g, by int64) {
	b.Add(Event{Kind: EvReady, At: at, G: b.Goroutine(g), By: b.Waker(by)})
}

// End records that a goroutine has ended. Its number is free for another one: goroutine IDs of the
// runtime are unique, those of a caller need not be.
func (b *Recorder) End(at, g int64) {
	b.Add(Event{Kind: EvEnd, At: at, G: b.Goroutine(g), By: NoWaker})
	b.forget(g)
}

// Open records that a span begins on a goroutine, below another one that is open or, with parent 0,
// below none: a root. With a parent that is not open its parent is not known, and it is no root.
// The number must not be that of an open span.
func (b *Recorder) Open(at, g int64, number, parent uint64, r Region) {
	s := Span{Region: b.RegionOf(r), Parent: -1, Root: parent == 0}
	if p, ok := b.open[parent]; ok {
		s.Parent = p
	}
	ref := b.span(s)
	b.open[number] = ref
	b.Add(Event{Kind: EvOpen, At: at, G: b.Goroutine(g), By: NoWaker, Ref: ref})
}

// span adds a span, and returns its number.
func (b *Recorder) span(s Span) int32 {
	b.R.Spans = append(b.R.Spans, s)
	return int32(len(b.R.Spans) - 1)
}

// Close records that a span ends on a goroutine, the one that it began on or another one. A span
// that is not open is left out: it began before the recording.
func (b *Recorder) Close(at, g int64, number uint64) {
	if ref, ok := b.open[number]; ok {
		delete(b.open, number)
		b.Add(Event{Kind: EvClose, At: at, G: b.Goroutine(g), By: NoWaker, Ref: ref})
	}
}

// Visit records that a goroutine visits a progress point.
func (b *Recorder) Visit(at, g int64, point string) {
	b.Add(Event{Kind: EvVisit, At: at, G: b.Goroutine(g), By: NoWaker, Ref: b.PointOf(point)})
}

// Operate records an operation on an object, or its beginning (mark.Op.Beginning). With mark.Make
// it records that the object is new, in place of one that had the number. Arg is cut to 32 bits.
func (b *Recorder) Operate(at, g int64, what mark.Op, object uint64, arg int64) {
	b.operated(at, b.Goroutine(g), what, object, arg)
}

// Waker returns the goroutine, or NoWaker.
func (b *Recorder) Waker(by int64) int32 {
	if by < 0 {
		return NoWaker
	}
	return b.Goroutine(by)
}

// Place returns site n, and adds unknown ones up to it where there are fewer. The caller may fill
// in R.Sites.
func (b *Recorder) Place(n int64) int32 {
	for int64(len(b.R.Sites)) <= n {
		b.R.Sites = append(b.R.Sites, Site{})
	}
	return int32(n)
}

// maxEvents bounds what one recording may hold: 32 bytes each, 128 MiB in all. Inference copies the
// list some times. A program that switches 100,000 times in a second, with three events each, is
// there after 14 s.
const maxEvents = 4 << 20

// A Recorder builds a [Recording] event by event, in the order of time. Goroutines, spans and
// objects are numbered by the caller. It is not safe for concurrent use.
type Recorder struct {
	R    Recording       // so far; its events may be changed between two calls
	g    map[int64]int32 // goroutines by the caller's number, as long as they live
	last struct {        // that was asked for: most events are of the same one as the event before
		id    int64
		g     int32
		known bool
	}
	open     map[uint64]int32 // spans by the caller's number
	object   map[ObjectKey]int32
	region   map[Region]int32
	point    map[string]int32
	overflow bool // there were more than maxEvents: the recording ends at the last that it has
}

// NewRecorder returns a recorder of a program on procs processors (GOMAXPROCS), from start, ns.
// Site 0 is the one that is not known.
func NewRecorder(start int64, procs int) *Recorder {
	return &Recorder{
		R: Recording{Start: start, End: start, Procs: procs, Sites: []Site{{}}},
		g: map[int64]int32{}, open: map[uint64]int32{}, object: map[ObjectKey]int32{}, region: map[Region]int32{}, point: map[string]int32{},
	}
}

// Recording returns what was recorded up to a time, not before the last event; of more than
// maxEvents up to the last that there is room for, see [Recording.Cut]. It is not a copy: the
// recorder must not be used afterwards.
func (b *Recorder) Recording(end int64) *Recording {
	b.R.End = end
	if b.overflow && b.R.Cut == nil {
		b.R.End = b.R.Events[len(b.R.Events)-1].At
		b.R.Cut = fmt.Errorf("the trace has more than %d events, and what comes after %.3g s is left out", maxEvents, float64(b.R.End-b.R.Start)/1e9)
	}
	return &b.R
}

// Goroutine returns the number of a goroutine, a new one where it is met for the first time, or for
// the first time since one of that number ended.
func (b *Recorder) Goroutine(id int64) int32 {
	if b.last.known && b.last.id == id {
		return b.last.g
	}
	g, ok := b.g[id]
	if !ok {
		g = b.R.Count
		b.R.Count++
		b.g[id] = g
	}
	b.last.id, b.last.g, b.last.known = id, g, true
	return g
}

// forget lets a goroutine's number be used again by another one.
func (b *Recorder) forget(id int64) {
	delete(b.g, id)
	b.last.known = false
}

// Add appends an event, whose numbers are the recording's own. Of more than maxEvents it only notes
// that there are.
func (b *Recorder) Add(e Event) {
	if len(b.R.Events) == maxEvents {
		b.overflow = true
		return
	}
	// Half as much room again; append would make it a quarter larger each time, and copy a long
	// list several times.
	if len(b.R.Events) == cap(b.R.Events) {
		b.R.Events = slices.Grow(b.R.Events, len(b.R.Events)/2+1)
	}
	b.R.Events = append(b.R.Events, e)
}

// An ObjectKey is an object by the caller's number. That may be an address (programs that otelprof
// builds), where there are objects of several kinds: a struct and its first field, or one after
// another that the garbage collector has freed.
type ObjectKey struct {
	number uint64
	kind   mark.Op // one operation stands for all of its kind: Lock, WriteLock, Add, Await or Make
}

// KeyOf returns the key of an operation's object: operations of one kind of object with one number
// are on one object. The kinds are Mutex, RWMutex, WaitGroup, Cond, and channel. A Mutex whose
// address another Mutex had before is taken for the same; only channels have a mark of their
// making. Neither is used while the other one is, but one that was left locked seems to be held.
func KeyOf(what mark.Op, number uint64) ObjectKey {
	switch what {
	case mark.Lock.Beginning(), mark.Lock, mark.Unlock:
		return ObjectKey{number, mark.Lock}
	case mark.WriteLock.Beginning(), mark.WriteLock, mark.WriteUnlock, mark.ReadLock.Beginning(), mark.ReadLock, mark.ReadUnlock:
		return ObjectKey{number, mark.WriteLock}
	case mark.Add, mark.Wait.Beginning(), mark.Wait:
		return ObjectKey{number, mark.Add}
	case mark.Await.Beginning(), mark.Await, mark.Signal, mark.Broadcast:
		return ObjectKey{number, mark.Await}
	}
	return ObjectKey{number, mark.Make}
}

// operated adds an operation on an object, of a goroutine by the recording's number.
func (b *Recorder) operated(at int64, g int32, what mark.Op, object uint64, arg int64) {
	key := KeyOf(what, object)
	if what == mark.Make { // what was there before is gone
		delete(b.object, key)
		return
	}
	b.Add(Event{Kind: EvOperate, At: at, G: g, By: NoWaker, What: what, Ref: b.ObjectOf(key), Arg: int32(max(math.MinInt32, min(arg, math.MaxInt32)))})
}

// ObjectOf returns the number of an object, a new one where it is met for the first time.
func (b *Recorder) ObjectOf(key ObjectKey) int32 {
	i, ok := b.object[key]
	if !ok {
		i = b.R.Objects
		b.R.Objects++
		b.object[key] = i
	}
	return i
}

// RegionOf returns the number of a region, a new one where it is met for the first time. A region
// may have no span: all of them were renamed.
func (b *Recorder) RegionOf(r Region) int32 { return Intern(b.region, &b.R.Regions, r) }

// PointOf returns the number of a progress point.
func (b *Recorder) PointOf(name string) int32 { return Intern(b.point, &b.R.Points, name) }
