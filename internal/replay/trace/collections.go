package trace

import (
	"strings"

	"golang.org/x/exp/trace"
)

// The ranges of a trace that say when garbage was collected (traceEv.GCActive and GCMarkAssist in
// runtime/traceruntime.go): the one of the whole program, and those in which a goroutine helps.
const (
	markPhase  = "GC concurrent mark phase"
	markAssist = "GC mark assist"
)

// The labels of goroutines that collect garbage, right behind the start of each
// (gcMarkWorkerModeStrings in runtime/mgc.go): all begin so, and one is of an idle processor.
const (
	worker     = "GC ("
	idleWorker = "GC (idle)"
)

// Collections are when garbage was collected, for who explains why a request was slow. Simulations
// do without: they take what goroutines computed and waited for as it was. What a worker does on an
// idle processor takes nothing from them ([EvIdle]); what others do widens answers by
// [Conditions.Collected].
type Collections struct {
	Marking []Interval // of the whole program, in order, apart from each other; nil in what [Join] returns
	Assists []Assist   // by goroutine, each in order
}

// An Interval is a stretch of a recording, ns on its clock.
type Interval struct{ From, To int64 }

// within is the part between two times by another clock, and by that.
func (x Interval) within(from, to int64, by *Clock) Interval {
	return Interval{max(from, by.at(x.From)), min(to, by.at(x.To))}
}

// between returns the collections in a part of the time by another clock, and by that.
func (c *Collections) between(from, to int64, by *Clock) (part Collections) {
	for _, x := range c.Marking {
		if x = x.within(from, to, by); x.From < x.To {
			part.Marking = append(part.Marking, x)
		}
	}
	for _, a := range c.Assists {
		if a.Interval = a.within(from, to, by); a.From < a.To {
			part.Assists = append(part.Assists, a)
		}
	}
	return part
}

// An Assist is a stretch in which a goroutine did the collector's work.
type Assist struct {
	G int32
	Interval
}

// collected takes the beginning or the end of a range. A range that is on where a generation of the
// trace begins has another event there. What is open where the trace ends goes on until there.
func (t *Tracer) collected(at int64, e *trace.Event) {
	c := &t.B.R.Collections
	r := e.Range()
	switch {
	case r.Name == markPhase:
		open := len(c.Marking) > 0 && c.Marking[len(c.Marking)-1].To == openEnd
		switch ends := e.Kind() == trace.EventRangeEnd; {
		case ends && open:
			c.Marking[len(c.Marking)-1].To = at
		case !ends && !open:
			c.Marking = append(c.Marking, Interval{at, openEnd})
		}
	case r.Name == markAssist && r.Scope.Kind == trace.ResourceGoroutine:
		g := t.B.Goroutine(int64(r.Scope.Goroutine()))
		open, helps := t.assists[g]
		switch ends := e.Kind() == trace.EventRangeEnd; {
		case ends && helps:
			c.Assists[open].To = at
			delete(t.assists, g)
		case !ends && !helps:
			t.assists[g] = len(c.Assists)
			c.Assists = append(c.Assists, Assist{g, Interval{at, openEnd}})
		}
	}
}

// collects takes the label of a goroutine that has just begun to run.
func (t *Tracer) collects(at int64, e *trace.Event) {
	id := e.Goroutine()
	switch label := e.Label().Label; {
	case id == trace.NoGoroutine:
	case label == idleWorker:
		t.B.Add(Event{Kind: EvIdle, At: at, G: t.B.Goroutine(int64(id)), By: NoWaker})
	case strings.HasPrefix(label, worker):
		t.workers[int64(id)] = at
	}
}

// collecting is for which part of the processors' time in a trace of that length, ns, garbage was
// collected, assists included.
func (t *Tracer) collecting(r *Recording, length int64) float64 {
	took := t.worked
	for _, a := range r.Assists {
		took += min(a.To, t.last) - a.From
	}
	return min(1, float64(took)/float64(max(1, int64(r.Procs)*length)))
}

// openEnd is the end of what had not ended.
const openEnd = 1 << 62
