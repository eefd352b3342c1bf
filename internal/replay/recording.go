package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/mark"
)

// A Recording is what the goroutines of a program did in a window: when each ran, waited, for what, and which goroutine
// woke it. It is read from an execution trace by [Read], or built by a [Recorder].
type Recording struct {
	// Start and End of the window, ns on the recording's own clock.
	Start, End int64
	// Procs is GOMAXPROCS, the number of processors that ran goroutines at a time.
	Procs int
	// Traced is the number of trace events that were read.
	Traced int
	// Cut says that the trace was cut off or damaged before its end, and after how many generations; nil if it was whole.
	Cut error

	events    []event
	spans     []span
	sites     []Site
	regions   []Region
	points    []string
	functions []function
	idleGC    map[int32]bool // goroutines that only collect garbage
	conditions
	count   int32 // goroutines
	objects int32
	told    bool           // the operations on these are inferred from a trace that does not show each
	pools   map[int32]pool // objects that are inferred from waits
	// endless means that what condition variables count may become any number.
	endless bool
	// drippers are goroutines that end waits as timers do, see token_bucket.go.
	drippers map[int32]bool
	// excluded are regions whose spans have locks around them, see mutual_exclusion.go.
	excluded map[int32]int32
	rest     func() error // see ReadResting
	// origin is the recording that this is a window of; nil if it is one of its own.
	origin *origin
}

// rests leaves the processor to others, if it is time for that. Where no more is wanted it panics, which contain takes for the error.
func (r *Recording) rests() {
	if r.rest == nil {
		return
	}
	if err := r.rest(); err != nil {
		panic(stopped{err})
	}
}

// restsAt is rests in a loop over the events or steps, which take some 10 to 100 ns each.
func (r *Recording) restsAt(i int) {
	if i%512 == 0 {
		r.rests()
	}
}

// A Region is a piece of the program that may be made faster: the spans of one instrumentation scope and name, a region of
// runtime/trace, or a function.
type Region struct {
	Scope string `json:"scope"`
	Name  string `json:"span"`
}

// String returns the name.
func (r Region) String() string { return r.Name }

// A Site is where a goroutine waits, or was created: its call stack, innermost frame first.
type Site struct{ Frames []Frame }

// root returns the function that the goroutine began with.
func (s Site) root() string {
	if len(s.Frames) == 0 {
		return ""
	}
	return s.Frames[len(s.Frames)-1].Func
}

// user returns the innermost frame that is neither of the runtime nor of package sync: where a lock or a channel is used.
func (s Site) user() (Frame, bool) {
	for _, f := range s.Frames {
		if !strings.HasPrefix(f.Func, "runtime.") && !strings.HasPrefix(f.Func, "sync.") && !strings.HasPrefix(f.Func, "internal/sync.") {
			return f, true
		}
	}
	return Frame{}, false
}

// reader returns the innermost frame that is not of a package by which anything is read: where a connection is read.
func (s Site) reader() (Frame, bool) {
	for _, f := range s.Frames {
		if !slices.ContainsFunc(readers, func(p string) bool { return strings.HasPrefix(f.Func, p) }) {
			return f, true
		}
	}
	return Frame{}, false
}

// sends reports whether it is to write to a connection, or to open one.
func (s Site) sends() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool {
		return f.Func == "internal/poll.(*FD).WaitWrite" || strings.HasPrefix(f.Func, "internal/poll.(*FD).Write")
	})
}

// readers are prefixes of functions by which files and connections are read.
var readers = []string{"runtime.", "internal/poll.", "net.", "os.", "io.", "bufio.", "crypto/tls."}

// A Frame is one call of a [Site].
type Frame struct {
	Func string
	File string
	Line int
}

// eventKind is what happened to a goroutine.
type eventKind uint8

const (
	evExists  eventKind = iota + 1 // at the beginning of the window; arg is a state; of one that waits, site is where and ref a reason
	evCreate                       // by creates g; site is where
	evReady                        // g need not wait any more: by woke it, or something outside, on processor arg-1 if arg is not 0
	evStart                        // g runs on processor arg
	evYield                        // g no longer runs, though it could
	evWait                         // g waits at site; arg is a reason
	evSyscall                      // g enters a system call at site
	evReturn                       // g is back from one, and runs
	evEnd                          // g ends
	evOpen                         // span ref begins on g
	evClose                        // span ref ends on g
	evVisit                        // progress point ref is visited by g
	evSample                       // g computes at site
	evOperate                      // g does operation what on object ref, with arg
)

// The states that evExists has.
const (
	stateRunning = iota
	stateRunnable
	stateWaiting
	stateSyscall
)

// The reasons for a wait that matter to the model.
const (
	waitOther = iota
	waitTimer
	waitNetwork
	waitMutex
	waitSend
	waitReceive
	waitSelect
	waitForever // goroutines of the runtime that idle
)

type event struct {
	at   int64
	g    int32
	by   int32 // -1 for none
	ref  int32 // the number of a span, a progress point or an object
	arg  int32
	site int32
	kind eventKind
	what mark.Op
}

// A span is a live region: one start and one end.
type span struct {
	region int32
	parent int32 // index of the local parent, -1 for none
	id     uint64
	remote uint64 // ID of the remote parent, 0 for none
	root   bool
}

// remoteParents returns the spans that are remote parents of others, by their IDs, -1 for those of other processes.
func (r *Recording) remoteParents() map[uint64]int32 {
	parents := map[uint64]int32{}
	for i := range r.spans {
		if id := r.spans[i].remote; id != 0 {
			parents[id] = -1
		}
	}
	if len(parents) == 0 {
		return nil
	}
	for i := range r.spans {
		if _, ok := parents[r.spans[i].id]; ok {
			parents[r.spans[i].id] = int32(i)
		}
	}
	return parents
}

// maxEvents bounds what one window may hold: 32 bytes each.
const maxEvents = 4 << 20

// A Recorder builds a [Recording] event by event, in the order of time. Goroutines, spans and objects are numbered by the
// caller. It is not safe for concurrent use.
type Recorder struct {
	r    Recording
	g    map[int64]int32
	last struct { // that was asked for: most events are of the same goroutine as the one before
		id    int64
		g     int32
		known bool
	}
	open     map[uint64]int32 // spans by the caller's number
	object   map[objectKey]int32
	region   map[Region]int32
	point    map[string]int32
	overflow bool
}

// NewRecorder returns a recorder of a program on procs processors.
func NewRecorder(start int64, procs int) *Recorder {
	return &Recorder{
		r: Recording{Start: start, End: start, Procs: procs, sites: []Site{{}}, idleGC: map[int32]bool{}},
		g: map[int64]int32{}, open: map[uint64]int32{}, object: map[objectKey]int32{}, region: map[Region]int32{}, point: map[string]int32{},
	}
}

// Recording returns what was recorded up to a time.
func (b *Recorder) Recording(end int64) (*Recording, error) {
	if b.overflow {
		return nil, fmt.Errorf("%w: more than %d events", ErrTooLarge, maxEvents)
	}
	b.r.End = end
	return &b.r, nil
}

func (b *Recorder) goroutine(id int64) int32 {
	if b.last.known && b.last.id == id {
		return b.last.g
	}
	g, ok := b.g[id]
	if !ok {
		g = b.r.count
		b.r.count++
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

func (b *Recorder) add(e event) {
	if len(b.r.events) == maxEvents {
		b.overflow = true
		return
	}
	if len(b.r.events) == cap(b.r.events) { // append would copy them several times
		b.r.events = slices.Grow(b.r.events, len(b.r.events)+1)
	}
	b.r.events = append(b.r.events, e)
}

// An objectKey is an object by the caller's number. That may be an address, where there are objects of several kinds: a struct and
// its first field, or one after another.
type objectKey struct {
	number uint64
	kind   mark.Op
}

func keyOf(what mark.Op, number uint64) objectKey {
	switch what {
	case mark.Lock.Beginning(), mark.Lock, mark.Unlock:
		return objectKey{number, mark.Lock}
	case mark.WriteLock.Beginning(), mark.WriteLock, mark.WriteUnlock, mark.ReadLock.Beginning(), mark.ReadLock, mark.ReadUnlock:
		return objectKey{number, mark.WriteLock}
	case mark.Add, mark.Wait.Beginning(), mark.Wait:
		return objectKey{number, mark.Add}
	case mark.Await.Beginning(), mark.Await, mark.Signal, mark.Broadcast:
		return objectKey{number, mark.Await}
	}
	return objectKey{number, mark.Make}
}

// operated adds an operation on an object.
func (b *Recorder) operated(at int64, g int32, what mark.Op, object uint64, arg int64) {
	key := keyOf(what, object)
	if what == mark.Make { // what was there before is gone
		delete(b.object, key)
		return
	}
	b.add(event{kind: evOperate, at: at, g: g, by: noWaker, what: what, ref: b.objectOf(key), arg: int32(max(math.MinInt32, min(arg, math.MaxInt32)))})
}

func (b *Recorder) objectOf(key objectKey) int32 {
	i, ok := b.object[key]
	if !ok {
		i = b.r.objects
		b.r.objects++
		b.object[key] = i
	}
	return i
}

func (b *Recorder) regionOf(r Region) int32 {
	i, ok := b.region[r]
	if !ok {
		i = int32(len(b.r.regions))
		b.r.regions = append(b.r.regions, r)
		b.region[r] = i
	}
	return i
}

func (b *Recorder) pointOf(name string) int32 {
	i, ok := b.point[name]
	if !ok {
		i = int32(len(b.r.points))
		b.r.points = append(b.r.points, name)
		b.point[name] = i
	}
	return i
}

// noWaker is the waker of what something outside wakes.
const noWaker = -1
