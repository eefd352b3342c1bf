package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
)

// A trace consists of generations, each about a second of the program (defaultTraceAdvancePeriod in
// runtime/trace.go). A generation has tables of its own stacks and texts, and batches of events by
// thread. Timestamps of threads alone do not order events that depend on each other; the reader of
// golang.org/x/exp/trace does, by sequence numbers, and fails where a goroutine would do something
// impossible. What this file adds: marks and states become events of a [Recording], a damaged end
// is cut off at a generation, and a program that reads a trace of itself gets pauses.

// Read reads an execution trace of package runtime/trace, with the marks that package spans and the
// types of package causal write into it. Of a trace that is cut short or damaged it takes the whole
// generations before; where there is none, that is an error that wraps [ErrTrace]. Of one of more
// than maxEvents events it takes so many, see [Recording.Cut]. It takes about 0.3 µs and 40 bytes
// for each event.
func Read(r io.Reader) (*Recording, error) { return ReadResting(r, nil) }

// ReadResting is Read for a program that reads a trace of itself: while that is read, and while a
// Study of package replay takes the recording, rest is called after each 50 µs or so, on the same
// goroutine, so that it can leave the processor to others. An error of it ends the work and is what
// is returned. Nil is for no rest. TestReadingRests and TestReadingEndsWhenNothingWantsIt hold it.
func ReadResting(r io.Reader, rest func() error) (_ *Recording, err error) {
	defer Catch(&err)
	from := &restingReader{Reader: r, rest: rest}
	events, err := trace.NewReader(from)
	if err != nil {
		return nil, cmp.Or(from.over, fmt.Errorf("%w: %w", ErrTrace, err))
	}
	t := NewTracer()
	// A buffer in memory knows its length: room for most events at once spares copies.
	if l, ok := r.(interface{ Len() int }); ok {
		t.expected = min(l.Len()/bytesPerEvent, maxEvents)
	}
	for {
		e, err := next(events)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			t.Event(&e)
			err = t.Err
		}
		// The end of the work is never taken for damage: what has been read by then is not a
		// result.
		if err != nil {
			err = cmp.Or(from.over, fmt.Errorf("%w: event %d: %w", ErrTrace, t.events, err))
			if from.over != nil || !t.cut(err) {
				return nil, err
			}
			break
		}
		if rest != nil && t.events%128 == 0 { // of 0.3 µs each
			if err := rest(); err != nil {
				return nil, err
			}
		}
		if t.B != nil && t.B.overflow {
			break
		}
	}
	if t.B == nil {
		return nil, fmt.Errorf("%w: no events", ErrTrace)
	}
	return t.recording(rest), nil
}

// recording is what the events make up.
func (t *Tracer) recording(rest func() error) *Recording {
	rec := t.B.Recording(t.last)
	rec.Traced, rec.Rest = t.events, rest
	length := rec.End - rec.Start
	// A progress point that the program counts by a mark stays one, be there tasks of that name or
	// not.
	for point := range t.counted {
		delete(t.tasks, point)
	}
	rec.DropTasks(t.tasks, t.named)
	rec.skipUnmarked(t.marked)
	// A trace has GOMAXPROCS in each generation. Where it is missing, the processors on which
	// goroutines were seen are a bound from below.
	if rec.Procs == 0 {
		rec.Procs = max(1, len(t.procs))
	}
	rec.Collected = t.collecting(rec, length)
	rec.sampled() // after skipUnmarked, so that samples and running time are of one window
	return rec
}

// next returns the next event, [io.EOF] at the end. What is damaged may make the reader panic, too:
// it indexes tables by numbers of the trace. FuzzRead and TestDamaged look for that.
func next(events *trace.Reader) (_ trace.Event, err error) {
	defer Catch(&err)
	return events.ReadEvent()
}

// A generation is the state of a [Tracer] where a generation of the trace ends: it can be read
// without those after it, so that a recording may be cut there.
type generation struct {
	ended  int   // how many whole generations there are up to here; 0 if there is nothing to cut at
	events int   // length of Recording.Events here
	traced int   // trace events that were read
	at     int64 // time of the border, ns
}

// cut leaves what stands behind the last whole generation out, and reports whether there is one. It
// sets Recording.Cut to the reason. Numbers of goroutines, spans and objects that only occur behind
// the border stay: they have no events. A program that was killed while it wrote its trace has such
// an end, and so has a file that was copied in part.
func (t *Tracer) cut(why error) bool {
	whole := t.whole
	if whole.ended == 0 {
		return false
	}
	r := &t.B.R
	r.Events, t.events, t.last = r.Events[:whole.events], whole.traced, whole.at
	r.Cut = fmt.Errorf("the trace is cut off or damaged after %d whole generations (%.3g s), and what comes later is left out: %w", whole.ended, float64(whole.at-r.Start)/1e9, why)
	return true
}

// A restingReader rests where the trace is read. The reader of traces takes a whole generation, a
// second of the program, before it returns the first event of it: rests between events alone would
// leave stretches of many ms.
type restingReader struct {
	io.Reader
	rest func() error // nil for none
	over error        // what it returned last: the reader of traces may wrap it, or lose it
}

// Read implements [io.Reader].
func (r *restingReader) Read(p []byte) (int, error) {
	if r.rest != nil {
		if r.over = r.rest(); r.over != nil {
			return 0, r.over
		}
	}
	return r.Reader.Read(p)
}

// bytesPerEvent is what an event of a trace takes where most are marks: 29 of an unsampled span's
// or a lock's, 40 of a sampled span's, 12 without marks. The length of the trace by it is how many
// events room is made for. A list of more is copied while it grows; room for more would be left
// unused, and count for the heap that the garbage collector lets the program have.
const bytesPerEvent = 24

// A Tracer translates trace events, one at a time, in their order. It is exported for tests that
// hold each event against what becomes of it (changesIn in transition_test.go).
type Tracer struct {
	expected int       // events: room to begin with
	B        *Recorder // nil until the first event, whose time is the beginning of the recording
	events   int       // of the trace
	last     int64     // time of the last one, ns
	marked   int64     // when the first mark was written, ns; 0 for none yet
	// sites has the number of a stack of the trace. Each generation has its own table of stacks, so
	// that one call stack is several of these: bySite makes them one, by functions and lines.
	sites   map[trace.Stack]int32
	bySite  map[string]int32
	mark    map[uint64]int32      // open spans by the number in their mark: their address in memory
	regions map[int64][]int32     // open regions of runtime/trace by goroutine, the innermost last
	tasks   map[int32]bool        // progress points that are tasks' ends
	counted map[int32]bool        // and points that the program counts
	named   map[string]bool       // with which spans began
	assists map[int32]int         // goroutines that help the collector, by the index of that
	workers map[int64]int64       // since when its own run, but those on idle processors
	worked  int64                 // how long these ran, ns
	procs   map[trace.ProcID]bool // on which a goroutine changed its state
	whole   generation            // where the trace can be cut
	Err     error                 // what the trace has and the recording has no events for
}

// NewTracer returns a tracer that has seen nothing.
func NewTracer() *Tracer {
	return &Tracer{sites: map[trace.Stack]int32{}, bySite: map[string]int32{}, mark: map[uint64]int32{}, regions: map[int64][]int32{}, tasks: map[int32]bool{}, counted: map[int32]bool{}, named: map[string]bool{}, assists: map[int32]int{}, workers: map[int64]int64{}}
}

// Event takes the next event of the trace. It sets Err where that is one that it does not know; the
// recording is then not what the program did. What happens on no goroutine (in the scheduler, in a
// signal handler) has no event here.
//
// Span marks, regions and tasks are three ways in which a program names its parts:
//
//	span (mark)             EvOpen and EvClose, may end on another goroutine, has parents
//	region (runtime/trace)  EvOpen and EvClose on one goroutine, innermost first, no parents
//	task (runtime/trace)    EvVisit at its end: one unit of the program's work is done
func (t *Tracer) Event(e *trace.Event) {
	at := int64(e.Time())
	if t.B == nil {
		t.B = NewRecorder(at, 0)
		t.B.R.Events = make([]Event, 0, t.expected)
		t.procs = map[trace.ProcID]bool{}
	}
	t.events++
	t.last = at
	switch e.Kind() {
	// A sync event is where a generation begins, and the one before has ended, if there is one. The
	// reader also makes one before it reports that the next generation is damaged.
	case trace.EventSync:
		t.whole = generation{ended: e.Sync().N - 1, events: len(t.B.R.Events), traced: t.events, at: at}
	case trace.EventStateTransition:
		s := e.StateTransition()
		if s.Resource.Kind == trace.ResourceGoroutine {
			t.transition(at, e, &s)
		}
	// GOMAXPROCS may change while the program runs. The largest is the machine that goroutines had
	// some of the time; the bound keeps a damaged number from being one.
	case trace.EventMetric:
		if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" {
			t.B.R.Procs = max(t.B.R.Procs, int(min(m.Value.Uint64(), 1<<16)))
		}
	case trace.EventLog:
		if e.Goroutine() != trace.NoGoroutine {
			l := e.Log()
			t.log(at, t.B.Goroutine(int64(e.Goroutine())), &l)
		}
	case trace.EventStackSample:
		if id := e.Goroutine(); id != trace.NoGoroutine {
			t.B.Add(Event{Kind: EvSample, At: at, G: t.B.Goroutine(int64(id)), By: NoWaker, Site: t.site(e.Stack())})
		}
	case trace.EventRegionBegin, trace.EventRegionEnd:
		if id := e.Goroutine(); id != trace.NoGoroutine {
			t.region(at, int64(id), e)
		}
	case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
		t.collected(at, e)
	case trace.EventLabel:
		t.collects(at, e)
	// A task that began before the trace has no type. The tasks of package mark stand for objects,
	// and never end.
	case trace.EventTaskEnd:
		if id := e.Goroutine(); id != trace.NoGoroutine {
			if task := e.Task(); task.Type != "" && !strings.HasPrefix(task.Type, "otelprof") {
				point := t.B.PointOf(task.Type)
				t.tasks[point] = true
				t.B.Add(Event{Kind: EvVisit, At: at, G: t.B.Goroutine(int64(id)), By: NoWaker, Ref: point})
			}
		}
	}
}

// region adds the begin or end of a region of package runtime/trace. Regions of one goroutine are
// nested, or the reader of traces fails (endRegion in its order.go). One without a beginning began
// before the trace: it encloses those here, so that none is open.
func (t *Tracer) region(at, id int64, e *trace.Event) {
	open := t.regions[id]
	if e.Kind() == trace.EventRegionBegin {
		ref := t.B.span(Span{Region: t.B.RegionOf(Region{Name: e.Region().Type}), Parent: -1})
		t.regions[id] = append(open, ref)
		t.B.Add(Event{Kind: EvOpen, At: at, G: t.B.Goroutine(id), By: NoWaker, Ref: ref})
		return
	}
	if last := len(open) - 1; last >= 0 {
		t.regions[id] = open[:last]
		t.B.Add(Event{Kind: EvClose, At: at, G: t.B.Goroutine(id), By: NoWaker, Ref: open[last]})
	}
}

// reasonOf returns the reason of a wait, by the text that runtime/traceruntime.go writes. A text
// that a later version of Go changes becomes WaitOther, and answers lose locks and channels without
// an error: TestGoVersions notices, when the new version's trace is added.
func reasonOf(reason string) int32 {
	switch reason {
	case "sleep":
		return WaitTimer
	case "network":
		return WaitNetwork
	case "sync":
		return WaitMutex
	case "chan send":
		return WaitSend
	case "chan receive":
		return WaitReceive
	case "select":
		return WaitSelect
	case "forever", "system goroutine wait":
		return waitForever
	}
	return WaitOther
}

// maxFrames is how much of a stack is kept, from the innermost frame on. The innermost ones show
// what is waited for, and the outermost one which kind of goroutine it is: of a deeper stack the
// latter is lost. The runtime keeps 128 at most (tracestack.go).
const maxFrames = 64

// site returns the number of a stack, the same for those of equal functions and lines; 0 for none.
// Most calls are one look-up by the number that the stack has in its generation.
func (t *Tracer) site(s trace.Stack) int32 {
	if s == trace.NoStack {
		return 0
	}
	if i, ok := t.sites[s]; ok {
		return i
	}
	var frames []Frame
	for f := range s.Frames() {
		if len(frames) == maxFrames {
			break
		}
		frames = append(frames, Frame{Func: f.Func, File: f.File, Line: int(f.Line)})
	}
	key := StackKey(frames)
	i, ok := t.bySite[key]
	if !ok {
		i = int32(len(t.B.R.Sites))
		t.B.R.Sites = append(t.B.R.Sites, Site{Frames: frames})
		t.bySite[key] = i
	}
	t.sites[s] = i
	return i
}

// log reads the marks of package mark, and leaves other log events out.
func (t *Tracer) log(at int64, g int32, l *trace.Log) {
	m, ok := mark.Parse(l.Category, l.Message, uint64(l.Task))
	if !ok {
		return
	}
	if t.marked == 0 {
		t.marked = at
	}
	switch m.Kind {
	case mark.Progress:
		point := t.B.PointOf(m.Name)
		t.counted[point] = true
		t.B.Add(Event{Kind: EvVisit, At: at, G: g, By: NoWaker, Ref: point})
	case mark.Start:
		// A parent that is not open here began before the recording, or has ended: Parent stays -1,
		// and Root is false.
		s := Span{Region: t.B.RegionOf(Region{l.Category, m.Span.Name}), Parent: -1, ID: m.Span.SpanID, Remote: m.Span.Remote, Trace: m.Span.Trace, Root: m.Span.Parent == 0}
		if p, ok := t.mark[m.Span.Parent]; ok {
			s.Parent = p
		}
		t.named[m.Span.Name] = true
		ref := t.B.span(s)
		t.mark[m.Span.ID] = ref
		t.B.Add(Event{Kind: EvOpen, At: at, G: g, By: NoWaker, Ref: ref})
	case mark.End:
		// A span that began before the recording leaves no event. One that has ended makes room for
		// another one at the same address.
		ref, ok := t.mark[m.Span.ID]
		if !ok {
			return
		}
		delete(t.mark, m.Span.ID)
		// A span that is renamed (an HTTP server's, once the route is known) is of the region of
		// its last name, from its beginning on.
		if m.Span.Name != "" {
			t.B.R.Spans[ref].Region = t.B.RegionOf(Region{l.Category, m.Span.Name})
		}
		t.B.Add(Event{Kind: EvClose, At: at, G: g, By: NoWaker, Ref: ref})
	case mark.Begin, mark.Done:
		what := m.Op
		if m.Kind == mark.Begin {
			what = what.Beginning()
		}
		t.B.operated(at, g, what, m.Object, int64(m.Arg))
	}
}
