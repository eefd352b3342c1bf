package model

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Operations on objects are marked, see mark.Op: one mark where the operation is done, and one more
// where it begins if it may wait. Between both the goroutine is in the runtime, so that its waits
// in between are the operation's, and the object decides in the replay how long they are:
//
//	marks        L . . . . . . . . . . . . l
//	events           wait         ready  run
//	list before  |   OpWait, OpRun         |
//	list after                             OpLock
//
// A select statement has a beginning for each channel that it may receive from, of the first eight,
// and ends with the mark of one operation, or none. A program of otelprof build marks each end
// (tellSelects in runtimemode/overlay). The types of package causal do not mark a case on a plain
// channel or a timer: there the goroutine's next operation ends the select statement, if it cannot
// be its end.
//
// Marks of what lets others go on stand before it takes effect, so that a level here is at worst a
// little early. A goroutine whose first mark is an end has begun before the window.

// operate books an operation on an object: of one that may wait, where it begins and where it is
// done. Nothing happens in the list where it begins, except for a select statement.
func (b *Builder) operate(g int32, e *trace.Event) {
	f := &b.G[g]
	what := e.What
	// For a goroutine that fills a bucket a select statement without a case is an offer refused.
	fills := b.fillers[g]
	if fills != nil && what == mark.Select {
		f.open = -1
		b.refused(g, fills, e.At)
		return
	}
	// Neither another case nor an end: the select statement is over, and its waits stay in the list
	// as waits.
	if f.open >= 0 && f.what == mark.Select.Beginning() && what != mark.Select.Beginning() && !trace.Ends(mark.Select.Beginning(), what) {
		f.open = -1 // a select that took a case whose channel has no marks
	}
	if what.Begins() {
		b.begin(g, e)
		f.first = false
		return
	}
	// An operation within another one that may wait is a part of it: a type may be made of others.
	slow := false
	if f.open >= 0 {
		if !trace.Ends(f.what, what) || f.what != mark.Select.Beginning() && f.object != b.objectOf(e.Ref) {
			return // within the one that may wait
		}
		slow = true
		if f.what == mark.Send.Beginning() && what == mark.Closed { // it panics, and has not sent
			b.Levels[f.object].take(-1)
		}
	}
	w := wait{begun: e.At, late: -1}
	switch {
	case slow:
		w = b.fold(g, f.open)
		w.begun, w.chosen, f.open = f.begun, f.what == mark.Select.Beginning(), -1
	case f.first && trace.Acquires(what) && !b.P.Lists[g].Born: // since before the window
		if since, ok := b.foldBefore(g); ok {
			w = since
		}
	}
	f.first = false
	b.perform(g, e, slow && f.what == mark.Send.Beginning(), w)
}

// begin books the beginning of an operation that may wait, unless it is a part of another one.
func (b *Builder) begin(g int32, e *trace.Event) {
	f := &b.G[g]
	what, selects := e.What, e.What == mark.Select.Beginning()
	if selects && f.open >= 0 && f.what == what {
		if !b.waitedSince(g, f.open) { // another case
			b.told(g, e.Ref)
			return
		}
		f.open = -1
	}
	if f.open >= 0 {
		return
	}
	if selects {
		b.P.Told = append(b.P.Told, nil)
		b.emit(g, Op{Kind: OpChoose, Arg: b.objectOf(e.Ref), At: e.At, Late: -1, Nth: int32(len(b.P.Told))})
	}
	f.open, f.what, f.object, f.begun = int32(len(b.P.Lists[g].Ops)), what, b.objectOf(e.Ref), e.At
	if selects {
		b.told(g, e.Ref)
	}
	// The element may be received before the sender's second mark. Counted only there, a level
	// could fall below what the channel ever held.
	if what == mark.Send.Beginning() { // it has sent, as far as others can see
		f.found = b.Levels[f.object].Now
		b.Levels[f.object].take(1)
	}
}

// foldBefore folds the wait of a goroutine that has done nothing but wait since the window began,
// and reports whether there is one. More than four ops may have waited for something else, and so
// may what a span, a visit or a close divides from the operation.
func (b *Builder) foldBefore(g int32) (w wait, ok bool) {
	ops := b.P.Lists[g].Ops
	from := len(ops)
	for from > 0 && !ops[from-1].divides() {
		from--
	}
	if len(ops) > 4 || !slices.ContainsFunc(ops[from:], func(o Op) bool { return o.Kind == OpWait }) {
		return w, false
	}
	w = b.fold(g, int32(from))
	w.begun = b.P.Rec.Start
	return w, true
}

// divides reports whether what comes behind an op is apart from what came before it.
func (o *Op) divides() bool {
	return o.Kind == OpOpen || o.Kind == OpClose || o.Kind == OpVisit || o.closes()
}

// told adds a channel that the select statement which a goroutine has come to may receive from, or
// send to.
func (b *Builder) told(g, ref int32) {
	begins := &b.P.Lists[g].Ops[b.G[g].open-1]
	cases := &b.P.Told[begins.Nth-1]
	*cases = append(*cases, b.objectOf(ref))
}

// waitedSince reports whether a goroutine has waited at an op or behind it. Between the cases of
// one select statement it has not.
func (b *Builder) waitedSince(g, from int32) bool {
	return slices.ContainsFunc(b.P.Lists[g].Ops[from:], func(o Op) bool { return o.Kind == OpWait || o.Kind == OpOut })
}

// A wait is what an operation did besides: nothing, or wait for a goroutine or for something
// outside.
type wait struct {
	waited, outside bool  // outside is of the last wait: what ended the operation
	chosen          bool  // it was a select statement
	begun           int64 // when the operation did, ns on the recording's clock
	d               int64 // for so long, ns: the sum of several waits
	late            int32 // as Op.Late, of the first wait
	site            int32 // of the last wait, 0 for not known
	ops             []Op  // what waited, in order
}

// fold takes what the list did since op from off it, but for computing without a wait, and what
// lets others go on. What waited is valid until the next call. Computing goes where there was a
// wait: it is the runtime's own, on both sides of the wait, and the replay has a time for that. A
// goroutine that spins or tries several times for a lock waits several times (internal/sync,
// lockSlow); these are one operation.
//
// Spans and visits of progress points go, too. There are none within an operation, unless a select
// statement has not been ended by a mark.
func (b *Builder) fold(g, from int32) wait {
	l := &b.P.Lists[g]
	w := wait{late: -1, ops: b.waited[:0]}
	b.computed = b.computed[:0]
	kept := l.Ops[:from]
	for _, o := range l.Ops[from:] {
		switch o.Kind {
		case OpWait, OpOut:
			if !w.waited { // later ones came too late, for a lock that another one has taken
				w.late = o.Late
			}
			w.waited, w.outside = true, o.Kind == OpOut
			w.d += o.D
			w.site = o.Site
			w.ops = append(w.ops, o)
		case OpWake, OpSpawn:
			kept = append(kept, o)
		case OpRun:
			b.computed = append(b.computed, o)
		}
	}
	if !w.waited {
		kept = append(kept, b.computed...)
	}
	l.Ops, b.waited = kept, w.ops
	return w
}

// drop gives up the waits of an operation: the object decides anew how long they take. Their tokens
// are dead, so that Finish in package infer drops the wake-ups, which the other side's operation on
// the object replaces.
func (b *Builder) drop(waits []Op) {
	for _, o := range waits {
		if o.Kind == OpWait {
			b.Dead[o.Arg] = true
		}
	}
}

// keep leaves the last wait of an operation as it was. The waits before it were in vain: what came
// did not let the goroutine go on.
func (b *Builder) keep(g int32, w wait) {
	if last := len(w.ops) - 1; last >= 0 {
		b.drop(w.ops[:last])
		b.G[g].woken = b.emit(g, w.ops[last])
	}
}

// perform adds the operation to the list. Sent means that a send was counted where it began.
func (b *Builder) perform(g int32, e *trace.Event, sent bool, w wait) {
	kind, object, locks := operationOf(e.What)
	if object == objectNone {
		b.performOther(g, e, w)
		return
	}
	f, i := &b.G[g], b.objectOf(e.Ref)
	o := &b.P.Objects[i]
	o.Kind = object
	// What no goroutine sent came from a timer: the receive lasts as long as it did, and finds an
	// element of which there is no send. Package infer drops the op for such a channel.
	timed := w.outside && kind == OpReceive
	if timed {
		b.keep(g, w)
	} else {
		b.drop(w.ops)
	}
	if w.waited && w.site != 0 {
		o.Site = w.site
	}
	// Levels and locks change before the op is emitted: behind the op that takes a lock a list can
	// not begin anew, behind the one that gives it back it can.
	b.book(g, i, kind, e, sent, w)
	if locks != 0 {
		b.holds(g, i, locks, kind == OpLock || kind == OpWriteLock)
	}
	if k := b.emit(g, b.opOn(g, i, kind, e, w)); !timed {
		f.woken = k
	}
}

// operationOf returns the op and the object of an operation, and how many more locks its goroutine
// has; no object for other operations.
func operationOf(what mark.Op) (kind OpKind, object ObjectKind, locks int32) {
	switch what {
	case mark.Lock:
		return OpLock, ObjectMutex, 1
	case mark.Unlock:
		return OpUnlock, ObjectMutex, -1
	case mark.WriteLock:
		return OpWriteLock, ObjectRWMutex, 1
	case mark.WriteUnlock:
		return OpWriteUnlock, ObjectRWMutex, -1
	case mark.ReadLock:
		return OpReadLock, ObjectRWMutex, 1
	case mark.ReadUnlock:
		return OpReadUnlock, ObjectRWMutex, -1
	case mark.Add:
		return OpAdd, ObjectWaitGroup, 0
	case mark.Wait:
		return OpJoin, ObjectWaitGroup, 0
	case mark.Send, mark.TrySend:
		return OpSend, ObjectChan, 0
	case mark.Receive, mark.TryReceive:
		return OpReceive, ObjectChan, 0
	}
	return 0, objectNone, 0
}

// performOther adds an operation of a condition variable, a close, or a receive that a close ends.
// These have no object that decides: their waits stay tokens, for package cond to find what they
// were for. Signal and Broadcast are one op, since how many they woke shows in the tokens.
func (b *Builder) performOther(g int32, e *trace.Event, w wait) {
	switch e.What {
	case mark.Await:
		b.again(g, w)
		b.emit(g, Op{Kind: OpAwait, Arg: b.objectOf(e.Ref), At: e.At})
	case mark.Signal, mark.Broadcast:
		b.keep(g, w)
		b.emit(g, Op{Kind: OpSignal, Arg: b.objectOf(e.Ref), At: e.At})
	default: // a close, or a receive that one ends: it wakes the goroutines that wait
		b.keep(g, w)
		b.closed(g, e, w.waited || w.chosen)
	}
}

// book follows what an operation changes: what its object holds, and how long a lock is held and
// waited for. What an object held when the window began is not in the trace. It follows from its
// levels, which count from 0 there: as much as keeps the lowest level from being below 0, or, if a
// sender once found a channel full, the room less the level then. Example of a channel with room
// for 3:
//
//	receive -1, receive -2, send -1                  at least 2 at first
//	send 1, send 2, a sender waits with 2 on top     3-2 = 1 at first
//
// The first one is too small where the channel was never empty. A smaller number has receivers wait
// sooner in a faster program; the self-check shows it only if they wait in this one, too.
func (b *Builder) book(g, object int32, kind OpKind, e *trace.Event, sent bool, w wait) {
	o, lv := &b.P.Objects[object], &b.Levels[object]
	switch kind {
	case OpLock, OpWriteLock:
		lv.Busy.locked(e.At)
		lv.writers++
		lv.heldEvents++
	case OpUnlock, OpWriteUnlock:
		lv.Busy.unlocked(e.At, b.P.Rec.Start)
		// Given back before it was taken: a goroutine had it at first.
		if lv.heldEvents == 0 {
			o.Held, lv.released = true, e.At
		}
		lv.heldEvents++
	case OpReadLock:
		lv.Busy.locked(e.At)
		lv.take(1)
	case OpReadUnlock:
		lv.Busy.unlocked(e.At, b.P.Rec.Start)
		lv.take(-1)
	case OpAdd:
		lv.take(e.Arg)
	case OpSend:
		// A sender that waited has found the channel full, with as many elements as it has room
		// for. Its own was counted when it began.
		o.Capacity = max(0, e.Arg)
		lv.Sends++
		if !sent {
			lv.take(1)
			// A select statement's element is counted here, and may have been received by then.
			if w.chosen && w.waited && lv.Low < 0 && lv.lowAt >= max(w.begun, b.G[g].readyAt-Near) {
				lv.Low++
			}
		} else if w.waited && o.Capacity > 0 {
			lv.foundFull(o.Capacity - b.G[g].found)
		}
	case OpReceive:
		o.Capacity = max(0, e.Arg)
		if lv.Now == lv.Low {
			lv.lowAt = e.At
		}
		lv.take(-1)
	}
	if kind == OpLock || kind == OpWriteLock || kind == OpReadLock {
		lv.Busy.Waited += w.d
		if w.waited {
			lv.Busy.waits++
		}
	}
}

// opOn returns the op of an operation on an object. What D is differs by kind, see Op.
func (b *Builder) opOn(g, object int32, kind OpKind, e *trace.Event, w wait) Op {
	x := Op{Kind: kind, Arg: object, At: e.At, Late: w.late, Site: w.site, Tries: e.What == mark.TrySend || e.What == mark.TryReceive, Drops: b.fillers[g] != nil}
	switch kind {
	case OpAdd:
		x.D = int64(e.Arg)
	case OpReceive:
		x.D = w.begun
		if n := len(w.ops); n > 0 && w.ops[n-1].Kind == OpWait {
			x.Answers = w.ops[n-1].Arg + 1
		}
	case OpSend:
		x.D = w.begun
	case OpLock, OpWriteLock, OpReadLock:
		x.D = w.d
	}
	return x
}

// holds follows how many locks a goroutine has, by object, since a lock can be held several times
// for reading. One that another goroutine gives back is no longer held by the one that has taken it
// alone.
func (b *Builder) holds(g, object, change int32, alone bool) {
	f, holder := &b.G[g], &b.Levels[object].holder
	if change < 0 && f.locks[object] == 0 {
		if *holder == 0 {
			return // locked before the window
		}
		f = &b.G[*holder-1]
		if f.locks[object] == 0 {
			return
		}
	}
	if f.locks == nil {
		f.locks = map[int32]int32{}
	}
	if alone {
		*holder = g + 1
	}
	f.locks[object] += change
	f.held += change
}

// again books a wait for a signal. A goroutine that is woken and waits again at once, since what it
// waits for is not so yet, waits for the last signal only. That is the loop around sync.Cond.Wait:
//
//	for !ready { c.Wait() }
//
//	OpWait OpAwait OpLock OpRun OpUnlock | OpWait    left of the bar goes
//
// Where it computes for ShortSyscall or longer in between, closes a channel, or the lock that it
// gives back wakes another goroutine, the waits stay: it may have done something with the lock.
func (b *Builder) again(g int32, w wait) {
	if !w.waited {
		return
	}
	l := &b.P.Lists[g]
	// The list ends: wait for a signal, lock, perhaps computing, unlock.
	n := len(l.Ops)
	i := n - 1
	if i >= 0 && l.Ops[i].Kind == OpUnlock {
		lock := l.Ops[i].Arg
		i--
		if i >= 0 && l.Ops[i].Kind == OpRun && l.Ops[i].D < ShortSyscall && !l.Ops[i].closes() {
			i--
		}
		if i >= 2 && l.Ops[i].Kind == OpLock && l.Ops[i].Arg == lock && l.Ops[i-1].Kind == OpAwait && l.Ops[i-2].Kind == OpWait && l.Ops[i-2].Reason == WaitSignal {
			b.Dead[l.Ops[i-2].Arg] = true
			l.Ops = l.Ops[:i-2]
		}
	}
	for i := range w.ops {
		w.ops[i].Reason = WaitSignal
	}
	b.keep(g, w)
}

// The reasons of waits for condition variables: without a known rule for when goroutines have to,
// and for what is done once for all. They are above all reasons of package trace, which are below
// 10, in the same field.
const (
	WaitSignal = 64 + iota
	WaitBusy
)

// objectOf returns the program's number of an object, by the recording's. Objects get numbers with
// their first operation; of what kind one is shows when an operation is done.
func (b *Builder) objectOf(number int32) int32 {
	i := b.objects[number]
	if i < 0 {
		i = int32(len(b.P.Objects))
		b.P.Objects = append(b.P.Objects, ObjectInfo{Pool: b.P.Rec.Pools[number]})
		b.Levels = append(b.Levels, level{Full: -1})
		b.objects[number] = i
	}
	return i
}

// take changes what an object holds by n, which may be below 0.
func (v *level) take(n int32) {
	v.Now += n
	v.Low = min(v.Low, v.Now)
}

// foundFull notes that a sender had to wait, so that there must have been so many elements at
// first. The first sender shows it best: later ones come to a level that counts elements of senders
// which still wait.
func (v *level) foundFull(atFirst int32) {
	if v.Full < 0 {
		v.Full = max(0, atFirst)
	}
}
