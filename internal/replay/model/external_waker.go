package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Which goroutine ended a wait is in the trace: the one that ran on the processor that made the
// other goroutine ready. That one need not be the cause. Timers and the network are looked at by
// whichever processor looks for work (runtime/proc.go, findRunnable), and the garbage collector
// lets go on what it held up. Such a wait is for something outside: it lasts as long as it did,
// whatever the goroutine does on which it ended. Taken for a hand-over it would be an edge of the
// wait-for graph that no program has.
//
// The other way round a goroutine may be the cause, and be none of the program's: time.AfterFunc
// runs its function in a goroutine of its own (time/sleep.go, goFunc), and a context's deadline is
// one (context.WithDeadlineCause). What set the timer is not in the trace. FromOutside looks at
// what such goroutines do:
//
//	only wake others   the others waited for the timer: their waits are for something outside
//	work first         the others wait for that work, which begins when the timer ended
//
// Where another goroutine would set the timer sooner, the first way keeps the wait as long as it
// was, and the second one the time at which it ended: neither gets shorter with the work before.
// The rule afterfunc of package cond finds timers that the first waiting goroutine sets.
// TestCalledLater holds both.

// FromOutside deals with goroutines that nothing in the program has started: what timers call. A
// goroutine that is woken by one has waited for the timer, unless that does some work before. One
// that does more than to wake others comes when it came. It needs List.Spawned, and inserts an op
// before all others of a list, so that places in that list are no longer valid.
func (b *Builder) FromOutside() {
	timers, found := make([]bool, b.P.Tokens), false
	for i := range b.P.Lists {
		l := &b.P.Lists[i]
		if !l.Born || l.Spawned.List >= 0 {
			continue
		}
		// What is between a timer and the wake-up is the runtime's, up to AtOnce, or work.
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
		// No op starts this list in a replay, so that it is there at first, and waits until the
		// time at which the timer called it.
		if more {
			l.Born, l.Timed = false, true
			l.Begins = beginning{State: Waiting}
			l.Ops = slices.Insert(l.Ops, 0, Op{Kind: OpOut, D: l.Created - b.P.Rec.Start, At: l.Created, Late: -1})
			for k := range b.Latecomers {
				if at := &b.Latecomers[k].Closing; at.List == int32(i) {
					at.Op++
				}
			}
		}
	}
	if !found {
		return
	}
	// The wake-ups are dead, so that each wait for one must end by itself.
	for _, o := range b.P.All() {
		if o.Kind == OpWait && timers[o.Arg] {
			o.Kind, o.Arg, o.Reason, o.Called = OpOut, 0, trace.WaitTimer, true
		}
	}
}

// Has reports whether a site has frames of a class, see trace.Classify.
func (b *Builder) Has(site int32, class int) bool { return b.classes[site][class] }
