package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
)

// Read reads an execution trace of package runtime/trace, with the marks that package spans and the
// types of package causal write into it. Of a trace that is cut short or damaged it takes the whole
// generations before, see [Recording.Cut]; where there is none, that is an error that wraps
// [ErrTrace]. It takes about 0.3 µs and 40 bytes for each event.
func Read(r io.Reader) (*Recording, error) { return ReadResting(r, nil) }

// ReadResting is Read for a program that reads a trace of itself: while that is read, and while a
// [Study] takes the recording, rest is called after each 50 µs or so, on the same goroutine, so
// that it can leave the processor to others. An error of it ends the work and is what is returned.
// Nil is for no rest.
func ReadResting(r io.Reader, rest func() error) (_ *Recording, err error) {
	defer Catch(&err)
	from := &restingReader{Reader: r, rest: rest}
	events, err := trace.NewReader(from)
	if err != nil {
		return nil, cmp.Or(from.over, fmt.Errorf("%w: %w", ErrTrace, err))
	}
	t := NewTracer()
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
		if err != nil {
			err = cmp.Or(from.over, fmt.Errorf("%w: event %d: %w", ErrTrace, t.events, err))
			if from.over != nil || !t.cut(err) {
				return nil, err
			}
			break
		}
		if rest != nil && t.events%128 == 0 {
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
	rec, err := t.B.Recording(t.last)
	if err != nil {
		return nil, err
	}
	rec.Traced, rec.Rest = t.events, rest
	for point := range t.counted {
		delete(t.tasks, point)
	}
	rec.DropTasks(t.tasks)
	rec.skipUnmarked(t.marked)
	if rec.Procs == 0 {
		rec.Procs = max(1, len(t.procs))
	}
	rec.sampled()
	return rec, nil
}

// next returns the next event. What is damaged may make the reader panic, too.
func next(events *trace.Reader) (_ trace.Event, err error) {
	defer Catch(&err)
	return events.ReadEvent()
}

// A generation is where one of a trace ends: about a second of it, which can be read without those
// after it.
type generation struct {
	ended  int // before it, and with it
	events int // of the recording
	traced int
	at     int64
}

// cut leaves what stands behind the last whole generation out, and reports whether there is one.
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

// A restingReader rests where the trace is read, a second of the program at a time: all its stacks
// come before its first event.
type restingReader struct {
	io.Reader
	rest func() error // nil for none
	over error        // what it returned
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

// bytesPerEvent is the least that an event of a long trace takes, without marks; where most are
// marks of spans it is 40.
const bytesPerEvent = 12

// A Tracer translates trace events.
type Tracer struct {
	expected int // events
	B        *Recorder
	events   int
	last     int64
	marked   int64 // when the first mark was written
	sites    map[trace.Stack]int32
	bySite   map[string]int32
	mark     map[uint64]int32  // open spans by the number in their mark
	regions  map[int64][]int32 // open regions of runtime/trace by goroutine
	tasks    map[int32]bool    // progress points that are tasks' ends
	counted  map[int32]bool    // and those that the program counts
	procs    map[trace.ProcID]bool
	whole    generation
	Err      error // what the trace has and the recording has no events for
}

// NewTracer returns a tracer that has seen nothing.
func NewTracer() *Tracer {
	return &Tracer{sites: map[trace.Stack]int32{}, bySite: map[string]int32{}, mark: map[uint64]int32{}, regions: map[int64][]int32{}, tasks: map[int32]bool{}, counted: map[int32]bool{}}
}

// Event takes the next event of the trace.
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
	case trace.EventSync: // one begins, and one has ended but before the first
		t.whole = generation{ended: e.Sync().N - 1, events: len(t.B.R.Events), traced: t.events, at: at}
	case trace.EventStateTransition:
		s := e.StateTransition()
		if s.Resource.Kind == trace.ResourceGoroutine {
			t.transition(at, e, &s)
		}
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
	case trace.EventRegionBegin:
		if id := e.Goroutine(); id != trace.NoGoroutine {
			ref := t.span(Span{Region: t.B.RegionOf(Region{Name: e.Region().Type}), Parent: -1})
			t.regions[int64(id)] = append(t.regions[int64(id)], ref)
			t.B.Add(Event{Kind: EvOpen, At: at, G: t.B.Goroutine(int64(id)), By: NoWaker, Ref: ref})
		}
	case trace.EventRegionEnd:
		id := e.Goroutine()
		open := t.regions[int64(id)]
		if id == trace.NoGoroutine || len(open) == 0 {
			return
		}
		t.regions[int64(id)] = open[:len(open)-1]
		t.B.Add(Event{Kind: EvClose, At: at, G: t.B.Goroutine(int64(id)), By: NoWaker, Ref: open[len(open)-1]})
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

func (t *Tracer) span(s Span) int32 {
	t.B.R.Spans = append(t.B.R.Spans, s)
	return int32(len(t.B.R.Spans) - 1)
}

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

func isGCWorker(s Site) bool {
	return len(s.Frames) > 0 && strings.HasPrefix(s.Frames[0].Func, "runtime.gcBgMarkWorker")
}

// maxFrames is how much of a stack is kept.
const maxFrames = 64

// site returns the number of a stack, the same for equal ones.
func (t *Tracer) site(s trace.Stack) int32 {
	if s == trace.NoStack {
		return 0
	}
	if i, ok := t.sites[s]; ok {
		return i
	}
	var frames []Frame
	var key strings.Builder
	for f := range s.Frames() {
		if len(frames) == maxFrames {
			break
		}
		frames = append(frames, Frame{Func: f.Func, File: f.File, Line: int(f.Line)})
		key.WriteString(f.Func)
		key.WriteByte(':')
		key.WriteString(strconv.FormatUint(f.Line, 10))
		key.WriteByte('\n')
	}
	i, ok := t.bySite[key.String()]
	if !ok {
		i = int32(len(t.B.R.Sites))
		t.B.R.Sites = append(t.B.R.Sites, Site{frames})
		t.bySite[key.String()] = i
	}
	t.sites[s] = i
	return i
}

// log reads the marks of package mark.
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
		s := Span{Region: t.B.RegionOf(Region{l.Category, m.Span.Name}), Parent: -1, id: m.Span.SpanID, Remote: m.Span.Remote, Root: m.Span.Parent == 0}
		if p, ok := t.mark[m.Span.Parent]; ok {
			s.Parent = p
		}
		ref := t.span(s)
		t.mark[m.Span.ID] = ref
		t.B.Add(Event{Kind: EvOpen, At: at, G: g, By: NoWaker, Ref: ref})
	case mark.End:
		ref, ok := t.mark[m.Span.ID]
		if !ok {
			return
		}
		delete(t.mark, m.Span.ID)
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
