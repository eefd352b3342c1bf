package trace

import (
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/mark"
)

// Coverage of waits: for how much of the time that requests wait is it known what they wait for? An
// estimate that follows who waits for whom by marks and spans (the virtual clock of package causal)
// is worth no more than that. It does not simulate: it goes over the events once.
//
// The principle is causality by wake-ups. A wait ends by an event of another goroutine (its waker),
// and what the waker did until then is what the wait was for. A waker without spans only passes it
// on (a dispatcher, a timer's goroutine): it stands for what made it go on itself, and so forth, up
// to a goroutine with spans, to something outside, or to the one that waits, which then has waited
// for what it had asked for:
//
//	g2 (spans)  --wakes--> g3 (none)  --wakes--> g4 (none)  --wakes--> g1: g1 waited for g2
//	timer       --wakes--> g3 (none)  --wakes--> g1:                   g1 waited for the timer
//	g1          --wakes--> g3 (none)  --wakes--> g1:                   g1 waited for its own errand
//
// What a goroutine without spans did of its own accord since it went on is not seen: then the
// origin is what it went on for last, not what it does. TestWaits has a case for each rule,
// TestWaitsOfOthers what is not counted.

// Waits is how long goroutines with spans waited in a recording, as far as a wait both began and
// ended in it.
type Waits struct {
	// All is the sum of the waits for other goroutines, and of those within spans for anything
	// else: timers, the network, system calls.
	All time.Duration
	// Untold is the part of All of which neither a type of package causal nor a span shows which
	// goroutine the wait was for.
	Untold time.Duration
	// Length is the length of the recording.
	Length time.Duration
}

// Waits adds up the waits of goroutines that have spans. A wait is attributed if it is within an
// operation that the trace has marks of, if the program did not end it (a timer, the network), or
// if what ended it was a goroutine with a child of a span of the one that waited, which had ended
// by then; of that, as far as the child was there. A goroutine without spans stands for what made
// it go on itself. It takes about 30 ns for each event.
func (r *Recording) Waits() Waits {
	w := waitCounter{
		rec: r, classes: BySite(r.Sites, Classify), owner: slices.Repeat([]int32{-1}, len(r.Spans)), begun: make([]int64, len(r.Spans)),
		g: slices.Repeat([]waiter{{last: -1, creator: NoWaker, origin: unknownOrigin, since: notWaiting}}, int(r.Count)),
	}
	// A goroutine counts as one with spans before it opens its first one, too: whether it is such
	// does not depend on when the window began.
	for e := range r.All() {
		if e.Kind == EvOpen {
			w.g[e.G].spanned = true
		}
	}
	for e := range r.All() {
		w.event(e)
	}
	return Waits{All: time.Duration(w.all), Untold: time.Duration(w.untold), Length: time.Duration(r.End - r.Start)}
}

// A waitCounter follows goroutines through the events.
type waitCounter struct {
	rec         *Recording
	g           []waiter
	classes     [][FrameClasses]bool // of sites
	owner       []int32              // of spans: the goroutine, -1 unless it is open
	begun       []int64              // of spans: ns
	all, untold int64                // ns
}

// A waiter is a goroutine. What made it go on is NoWaker for something outside of the program, else
// a goroutine that has spans.
type waiter struct {
	spanned bool  // it begins a span anywhere in the recording
	open    int   // spans that began on it, and have not ended
	last    int32 // the last span that has ended on it, -1 for none
	creator int32 // NoWaker where it was there before, or something outside has created it
	origin  int32 // what made it go on; unknownOrigin before that

	since   int64   // when it began to wait, ns; or notWaiting, longWaiting
	site    int32   // where
	reason  int32   // why: WaitOther and so on
	called  bool    // the wait is a system call
	within  bool    // spans, when it began to wait
	what    mark.Op // the beginning of the operation that it is in, 0 for none
	pending int64   // untold in that, ns, which counts if it does not come to its end
}

// unknownOrigin is what made a goroutine go on before the window: a goroutine, as far as is known,
// so that a wait for it counts as untold.
const unknownOrigin = -2

// What a goroutine is in place of the time at which it began to wait.
const (
	notWaiting  = -1
	longWaiting = -2 // since before the window
)

// event takes the next event. A goroutine that yields, or starts, does not wait: the time in a run
// queue is no wait for another goroutine.
func (w *waitCounter) event(e *Event) {
	g := &w.g[e.G]
	switch e.Kind {
	case EvExists:
		if e.Arg == StateWaiting {
			g.since, g.site, g.reason = longWaiting, e.Site, e.Ref
		}
	case EvCreate:
		g.creator, g.origin = e.By, w.originOf(e.By)
	case EvSyscall: // it goes on for what it went on for before
		g.since, g.called, g.within = e.At, true, g.open > 0
	case EvWait:
		g.since, g.called, g.site, g.reason, g.within = e.At, false, e.Site, e.Arg, g.open > 0
	case EvReady, EvReturn:
		if g.since != notWaiting {
			w.ended(g, e)
		}
		g.since = notWaiting
	// A span counts for the goroutine that it began on, though another one may end it.
	case EvOpen:
		g.open++
		w.owner[e.Ref], w.begun[e.Ref] = e.G, e.At
	case EvClose:
		if of := w.owner[e.Ref]; of >= 0 {
			w.g[of].open--
			w.owner[e.Ref] = -1
		}
		g.last = e.Ref // that of the goroutine which ended it: it is what has an answer
	case EvOperate:
		w.operate(g, e.What)
	}
}

// operate follows the operation that a goroutine is in. Waits within an operation that comes to its
// end are known: marks show its object, and who uses that. A select statement may also take a case
// whose channel has no marks (a context's, a timer's): what comes next is then not one of its ends,
// and what it waited for stays untold.
func (w *waitCounter) operate(g *waiter, what mark.Op) {
	switch {
	case what.Begins():
		if g.what == mark.Select.Beginning() { // a select that took a case which has no marks
			w.untold += g.pending
		} else if g.what != 0 {
			return // within another one
		}
		g.what, g.pending = what, 0
	case g.what != 0 && Ends(g.what, what):
		g.what, g.pending = 0, 0
	case g.what == mark.Select.Beginning():
		w.untold += g.pending
		g.what, g.pending = 0, 0
	}
}

// originOf returns what the goroutine stands for that made another one go on: NoWaker,
// unknownOrigin, or a goroutine that has spans.
func (w *waitCounter) originOf(by int32) int32 {
	if by >= 0 && !w.g[by].spanned {
		return w.g[by].origin
	}
	return by
}

// ended books a wait that is over. A wait for another goroutine always counts, one for something
// outside only within a span: between two requests a server waits for neither.
func (w *waitCounter) ended(g *waiter, e *Event) {
	// First what the goroutine stands for from now on, which goroutines without spans need as well.
	// After a system call it does what it did before.
	outside := g.called || e.By < 0 || EndsOutside(g.reason, w.classes[g.site], w.classes[e.Site])
	switch {
	case g.called:
	case outside:
		g.origin = NoWaker
	default:
		g.origin = w.originOf(e.By)
	}
	if !g.spanned || g.since == longWaiting || g.reason == waitForever {
		return
	}
	// The program does not end it, or it waited for what it has asked for: all is known.
	took := e.At - g.since
	if outside || g.origin == NoWaker || g.origin == e.G {
		if g.within {
			w.all += took
		}
		return
	}
	untold, known := w.before(g, e)
	if !known {
		return
	}
	w.all += took
	// Within an operation it is settled when that ends.
	if g.what != 0 {
		g.pending += untold
	} else {
		w.untold += untold
	}
}

// before returns how long a goroutine waited before what it waited for was a child of one of its
// spans, which shows that by its end. It is not known if the child's parent began before the
// window; a region of runtime/trace, which has no parents, is the same case.
//
//	g waits              |------------------------|
//	child, on the waker         |-------------|
//	untold               |------|                   30 of 100 in a case of TestWaits
//
// A waker that g has created had nothing before the child that g did not give it: all is known.
func (w *waitCounter) before(g *waiter, e *Event) (untold int64, known bool) {
	took := e.At - g.since
	if g.origin < 0 {
		return took, true
	}
	by := &w.g[g.origin]
	if by.last < 0 {
		return took, true
	}
	child := w.rec.Spans[by.last]
	switch {
	case child.Parent < 0:
		return took, child.Root || child.Remote != 0
	case w.owner[child.Parent] != e.G: // a child of another one's span, or of one that is over
		return took, true
	case by.creator == e.G: // it was ready to begin
		return 0, true
	}
	return min(max(0, w.begun[by.last]-g.since), took), true
}
