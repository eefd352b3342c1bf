package trace

import "golang.org/x/exp/trace"

// The ranges of a trace that say when garbage was collected (traceEv.GCActive and GCMarkAssist in
// runtime/traceruntime.go): the one of the whole program, and those in which a goroutine helps.
const (
	markPhase  = "GC concurrent mark phase"
	markAssist = "GC mark assist"
)

// Collections are when garbage was collected, for who explains why a request was slow. Simulations
// do without: they take what goroutines computed and waited for as it was.
type Collections struct {
	Marking []Interval // of the whole program, in order, apart from each other
	Assists []Assist   // by goroutine, each in order
}

// An Interval is a stretch of a recording.
type Interval struct{ From, To int64 }

// An Assist is a stretch in which a goroutine did the collector's work.
type Assist struct {
	G int32
	Interval
}

// collected takes the beginning or the end of a range. What is open where the trace ends goes on
// until there.
func (t *Tracer) collected(at int64, e *trace.Event) {
	c := &t.B.R.Collections
	r := e.Range()
	switch {
	case r.Name == markPhase && e.Kind() != trace.EventRangeEnd:
		c.Marking = append(c.Marking, Interval{at, openEnd})
	case r.Name == markPhase:
		if last := len(c.Marking) - 1; last >= 0 {
			c.Marking[last].To = at
		}
	case r.Name == markAssist && r.Scope.Kind == trace.ResourceGoroutine && e.Kind() != trace.EventRangeEnd:
		c.Assists = append(c.Assists, Assist{t.B.Goroutine(int64(r.Scope.Goroutine())), Interval{at, openEnd}})
	case r.Name == markAssist && r.Scope.Kind == trace.ResourceGoroutine:
		g := t.B.Goroutine(int64(r.Scope.Goroutine()))
		for i := len(c.Assists) - 1; i >= 0; i-- {
			if c.Assists[i].G == g {
				c.Assists[i].To = at
				break
			}
		}
	}
}

// openEnd is the end of what had not ended.
const openEnd = 1 << 62
