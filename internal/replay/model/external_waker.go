package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// outsiders reports whether a goroutine only happened to be the one on which another goroutine's
// wait ended: for a timer, the network or the garbage collector, none of which waits for the
// program.
func (b *Builder) outsiders(g int32, e *trace.Event) bool {
	f := &b.G[g]
	switch f.reason {
	case trace.WaitTimer:
		return true
	case trace.WaitNetwork: // the scheduler polls on any goroutine; only a deadline or a close is the program's doing
		return !b.Has(e.Site, trace.PollWaker)
	}
	return b.Has(f.site, trace.OfRuntime) || b.Has(e.Site, trace.OfRuntime)
}

// FromOutside deals with goroutines that nothing in the program has started: what timers call. A
// goroutine that is woken by one has waited for the timer, unless that does some work before. One
// that does more than to wake others comes when it came.
func (b *Builder) FromOutside() {
	timers, found := make([]bool, b.P.Tokens), false
	for i := range b.P.Lists {
		l := &b.P.Lists[i]
		if !l.Born || l.Spawned.List >= 0 {
			continue
		}
		l.Called = l.works()
		more := l.Called
		for k := range l.Ops {
			switch o := &l.Ops[k]; o.Kind {
			case OpWake:
				if !l.Called {
					timers[o.Arg], b.Dead[o.Arg], found = true, true, true
				}
			case OpRun, OpOut, OpWait:
			default:
				more = true
			}
		}
		if more {
			l.Born = false
			l.Begins = beginning{State: Waiting}
			l.Ops = slices.Insert(l.Ops, 0, Op{Kind: OpOut, D: l.Created - b.P.Rec.Start, At: l.Created, Late: -1})
		}
	}
	if !found {
		return
	}
	for i := range b.P.Lists {
		for k := range b.P.Lists[i].Ops {
			if o := &b.P.Lists[i].Ops[k]; o.Kind == OpWait && timers[o.Arg] {
				o.Kind, o.Arg, o.Reason, o.Called = OpOut, 0, trace.WaitTimer, true
			}
		}
	}
}

// Has reports whether a site has frames of a class.
func (b *Builder) Has(site int32, class int) bool {
	for len(b.classes) < len(b.P.Rec.Sites) {
		b.classes = append(b.classes, trace.Classify(b.P.Rec.Sites[len(b.classes)]))
	}
	return b.classes[site][class]
}
