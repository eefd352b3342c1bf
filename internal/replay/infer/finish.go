package infer

import (
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// What an object holds when the window begins is not in a recording: its history begins with the
// first operation that is seen. It follows from what comes later, since no object may hold less
// than nothing. The builder has counted each object from 0, so that the lowest level is minus what
// there was at first:
//
//	receive  send  receive  receive  send
//	     -1     0       -1       -2    -1     two elements were there, or this could not have been
//
// That is the least there can have been; initial_elements.go finds where there were more. An
// element that nothing in the window receives is not seen by it. A sender that found a channel full
// shows how many there were (level.Full in package model), or fewer, where a receiver has an
// element by then and has yet to mark that. A goroutine that waits as the window begins shows the
// number (level.Exact), and so does package hidden where it has completed operations (Counted).

// Finish closes the lists at the end of the window, and applies the rules of a recording that is
// being translated. It is called once, behind the last event. All of the builder's program changes
// in place; tokens that are dead by then lose their wake-ups.
func Finish(b *model.Builder) {
	end := b.P.Rec.End
	// What still runs computes until the end. What waits has no op for that: its end is not known.
	for g := range b.G {
		f := &b.G[g]
		if f.State == model.Running || f.State == model.InSyscall {
			b.Advance(int32(g), end)
		}
	}
	// Waits from before the window become operations, which change the levels that are read next.
	trace.Apply(b.P.Rec, b, edges)
	for i := range b.P.Objects {
		// A lock held by a writer at first is set by the builder, see model.ObjectInfo.Held.
		o, lv := &b.P.Objects[i], &b.Levels[i]
		switch o.Kind {
		case model.ObjectRWMutex:
			o.Readers = -lv.Low
		case model.ObjectWaitGroup:
			o.Count = -lv.Low
		case model.ObjectChan:
			o.Count = -lv.Low
			if lv.Exact || lv.Full > o.Count {
				o.Count = lv.Full
			}
			if o.Counted {
				o.Count = o.There
			}
			o.Count = min(o.Count, o.Capacity)
			// More elements than room: the receiver has gone, as with the channel of an answer that
			// came too late. A replay in which its sender waited for room would never go on. A
			// channel with more than two sends is no such channel, and its level is a mistake in
			// what is known of it.
			if lv.Now-lv.Low > o.Capacity && lv.Sends <= 2 { // given up by its receiver
				o.Capacity = lv.Sends + 1
			}
		}
	}
	trace.Apply(b.P.Rec, b, places)
	for g := range b.P.Lists {
		b.P.Rec.RestsAt(g)
		// The wait of a dead token is an object's by now, which decides when its goroutine goes on.
		b.P.Lists[g].Drop(func(o *model.Op) bool { return o.Kind == model.OpWake && b.Dead[o.Arg] })
	}
	trace.Apply(b.P.Rec, b, meetings)
}

// Settle finds what is inferred, or leaves it, and what follows from the rest. It does nothing the
// second time, so that a program which was copied before (Rewritten) can be settled both ways.
// Without inferring all waits of unmarked operations keep the recorded order. Behind it the number
// of ops is fixed, and p.Ops bounds how much a simulation may do.
func Settle(p *model.Program, inferring bool) {
	if p.Settled {
		return
	}
	p.Settled = true
	if inferring {
		trace.Apply(p.Rec, p, objects)
	}
	trace.Apply(p.Rec, p, ways)
	for i := range p.Lists {
		p.Ops += len(p.Lists[i].Ops)
	}
}

// Excluded has locks around spans of regions that may exclude each other, nil if there are none. It
// is a bound and no answer: the spans may be apart for another reason, see hidden.Excluding. The
// recording of p is not changed.
func Excluded(p *model.Program, inferring bool) *model.Program {
	regions := hidden.Excluding(p.Rec)
	if regions == nil {
		return nil
	}
	rec := *p.Rec
	rec.Excluded = regions
	return NewProgram(&rec, inferring)
}

// NewProgram translates a recording, with locks and channels that are only inferred or without
// them. Events must be in the order of time. It panics where rec.Rest ends it, or a trace is not as
// traces are, see [trace.Contain].
func NewProgram(rec *trace.Recording, inferring bool) *model.Program {
	p := Translate(rec)
	Settle(p, inferring)
	return p
}

// Translate puts together what is recorded, which has to be settled. With two ways to settle one
// translation serves both, as a draft and a copy of it.
func Translate(rec *trace.Recording) *model.Program {
	b := model.NewBuilder(rec)
	b.P.FindPoints()
	for e := range rec.All() {
		// Whether all processors were busy is known behind each event, see Punctual.
		m := b.Machine(e.G)
		before := m.Running
		b.Event(e)
		m.Full(before, e.At)
	}
	Finish(b)
	return b.P
}
