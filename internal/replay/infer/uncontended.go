package infer

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A lock is an order that the replay decides anew. Two kinds of locks decide nothing in a program,
// and do harm in a replay. One is a lock that is held for a thousandth of the time. A goroutine
// that waits for its holder, which waits for work that the first was to bring, stops a simulation
// in which other things are decided anew (a wait-for cycle). The other is a lock that goroutines
// have for themselves, such as that of a connection while they have the connection. It excludes no
// other; but which connection a request has is an accident, and two that have the same one in the
// replay exclude each other for as long as they hold it.
//
// The first kind shows in how long it is held, and waited for. The second shows in waits that there
// are not: goroutines that come at any time find a lock held as often as it is held of the time, so
// that a lock held half of the time and taken 100 times should have been waited for 50 times
// (busy.Own in package model). Goroutines that take turns in step do not wait either; substituted
// finds these. TestSetAside has the first kind, TestOwnLocksAreSetAside the second.
//
// A wait for such a lock stays as long as it was. The part of the time that a faster program can
// save by it is lost, at most hidden.Incidental of the window for each place.

// setAside takes locks out of the lists that goroutines have for themselves, and locks that are
// held so seldom, and waited for so little, that which one had them when is an accident of the
// recording: they decide nothing, but what others decide anew could be held up by their order.
// Waits for them last as long as they did. Locks that are waited for at one place, such as one of
// each request, count together.
//
// It comes once, when all events have been read: it adds to Busy.Total what a lock is held at the
// end. Places of ops are not valid behind it.
func setAside(b *model.Builder) {
	little := hidden.Incidental * float64(b.P.Rec.End-b.P.Rec.Start)
	of := cond.UsedAt(b.P)
	// Of a thousand locks at one place, one for each request, none is waited for long; together
	// they are.
	waited := map[int32]int64{}
	for i := range b.P.Objects {
		waited[of[b.P.Objects[i].Site]] += b.Levels[i].Busy.Waited
	}
	aside, own := make([]bool, len(b.P.Objects)), make([]bool, len(b.P.Objects))
	for i := range b.P.Objects {
		o, busy := &b.P.Objects[i], &b.Levels[i].Busy
		if busy.By > 0 {
			busy.Total += b.P.Rec.End - busy.Since
		}
		// Locks of condition variables and around spans stay. A lock without a wait is at no place.
		if o.Inferred || o.Kind != model.ObjectMutex && o.Kind != model.ObjectRWMutex || busy.Waited > 0 && float64(waited[of[o.Site]]) > little {
			continue
		}
		aside[i] = float64(busy.Total) <= little
		own[i] = !aside[i] && o.Kind == model.ObjectMutex && busy.Own(b.P.Rec.End-b.P.Rec.Start)
	}
	// A lock that is held for long may be free of waits by chance, too. It is set aside only if its
	// goroutines take others in its place.
	if slices.Contains(own, true) {
		for i, part := range substituted(b.P, own) {
			aside[i] = aside[i] || own[i] && part > model.LeastSubstituted
		}
	}
	for g := range b.P.Lists {
		l := &b.P.Lists[g]
		for k := range l.Ops {
			o := &l.Ops[k]
			if !o.IsLocking() || !aside[o.Arg] {
				continue
			}
			// Of a lock D is how long it was waited for; of an unlock it is 0, and Merge takes that
			// out.
			o.Kind, o.Arg = model.OpRun, 0
			if o.D > 0 {
				o.Kind, o.Reason = model.OpOut, trace.WaitMutex
				o.Set = 0 // nothing makes that shorter
			}
		}
		l.Merge()
	}
}
