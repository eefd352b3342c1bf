package simulator

import (
	"runtime"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/mark"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
)

// Scope and Progress are names in recordings: of the regions' instrumentation scope, and of the
// progress point.
const (
	Scope    = "simulator"
	Progress = "progress"
)

// RegionName returns what a region is in recordings.
func RegionName(r ledger.RegionID) replaytrace.Region {
	name := "none"
	switch r {
	case Region:
		name = "region"
	case Point:
		name = "point"
	case Other:
		name = "other"
	}
	return replaytrace.Region{Scope: Scope, Name: name}
}

// A tape is what is recorded of a world. All methods of a nil one do nothing.
type tape struct {
	w      *World
	to     *replaytrace.Recorder
	stock  bool
	places map[place]int64
	spans  uint64
	high   int // CPUs
}

// A place is where in the program a goroutine waits.
type place struct {
	calls [16]uintptr
	at    int
}

// Record begins to record the world: what each goroutine does and, unless it is stock, each
// operation on an object. Goroutines, locks and channels are as they are by then, and spans that
// are open remain unknown.
func (w *World) Record(to *replaytrace.Recorder, stock bool) {
	w.tape = &tape{w: w, to: to, stock: stock, places: map[place]int64{}}
	for _, g := range w.goroutines {
		switch g.state {
		case running:
			to.Running(w.now, g.id)
			w.tape.high = max(w.tape.high, int(g.cpu)+1)
		case runnable:
			to.Runnable(w.now, g.id)
		case waiting:
			to.Waiting(w.now, g.id)
		}
	}
}

// Recorded returns what was recorded. Where each goroutine has a CPU, there are twice as many as
// were ever used.
func (w *World) Recorded() *replaytrace.Recording {
	rec := w.tape.to.Recording(w.now)
	if w.config.CPUs == 0 {
		rec.Procs = max(8, 2*w.tape.high)
	}
	return rec
}

// by returns the goroutine that does what happens now, -1 for something outside.
func (t *tape) by() int64 {
	if g := t.w.current; g != nil {
		return g.id
	}
	return -1
}

func (t *tape) create(g *Goroutine) {
	if t != nil {
		t.to.Create(t.w.now, g.id, t.by())
	}
}

func (t *tape) start(g *Goroutine) {
	if t != nil {
		t.high = max(t.high, int(g.cpu)+1)
		t.to.Start(t.w.now, g.id, g.cpu)
	}
}

func (t *tape) yield(g *Goroutine) {
	if t != nil {
		t.to.Yield(t.w.now, g.id)
	}
}

func (t *tape) wait(g *Goroutine) {
	switch {
	case t == nil:
	case g.chooses:
		t.to.Choose(t.w.now, g.id, t.place(g))
	default:
		t.to.Wait(t.w.now, g.id, t.place(g))
	}
}

func (t *tape) ready(g *Goroutine) {
	if t != nil {
		t.to.Ready(t.w.now, g.id, t.by())
	}
}

func (t *tape) end(g *Goroutine) {
	if t != nil {
		t.to.End(t.w.now, g.id)
	}
}

func (t *tape) open(sp *Span, parent *Span) {
	if t == nil {
		return
	}
	t.spans++
	sp.number = t.spans
	number := uint64(0)
	if parent != nil {
		number = parent.number
	}
	t.to.Open(t.w.now, sp.goroutine.id, sp.number, number, RegionName(sp.region))
}

func (t *tape) close(sp *Span, on *Goroutine) {
	if t != nil && sp.number != 0 {
		t.to.Close(t.w.now, on.id, sp.number)
	}
}

func (t *tape) visit() {
	if t != nil {
		t.to.Visit(t.w.now, t.by(), Progress)
	}
}

// operate records an operation on an object, which has a number from its first one on.
func (t *tape) operate(g *Goroutine, what mark.Op, object *uint64, arg int64) {
	if t == nil || t.stock {
		return
	}
	if *object == 0 {
		t.w.objects++
		*object = t.w.objects
	}
	t.to.Operate(t.w.now, g.id, what, *object, arg)
}

func (t *tape) place(g *Goroutine) int64 {
	p := place{at: g.at}
	runtime.Callers(3, p.calls[:])
	n, ok := t.places[p]
	if !ok {
		n = int64(len(t.places)) + 1
		t.places[p] = n
	}
	return n
}
