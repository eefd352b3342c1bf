package model

import (
	"strings"
)

// An operation that began before the window has left no mark: its goroutine waits when the window
// begins, and is woken by the operation that is its other side. What would be left as a wait for a
// goroutine would be done twice in a replay, by that wake-up and by what the object decides: an
// element would be received, and be there still.
//
//	window                 |
//	goroutine 1     ... waits ......... ready  runs             began to receive before
//	goroutine 2            |        S   wakes 1   s             sends
//
//	lists before           | 1: OpWait      2: OpWake, OpSend   the element stays in the channel
//	lists after            | 1: OpReceive   2: OpSend
//
// The operation of the waker is known, and which one it is shows what the waiter did: who sends
// wakes a receiver, who receives from a full channel wakes a sender, who counts a wait group down
// wakes a goroutine that joins. Who unlocks wakes a goroutine that locks; as a reader or a writer
// is shown by what that one gives back later. It is a rule about each goroutine's first wait only.
// If no operation is near the wake-up, or its stack is of another kind, or goroutine 1 gives
// nothing back, the wait remains a token, which the replay keeps in the recorded order. TestBefore
// and TestBeforeTwice hold it.

// Near is how far from a wake-up the mark of the operation that it belongs to may be, ns. A mark is
// written some µs before the operation takes effect, or behind it, and the thread may lose its
// processor in between. A larger one takes the operation before or behind for it.
const Near = 100_000

// Before puts the operations in place of the waits that they were. It needs the lists as the
// builder left them, with dead tokens and all wake-ups, and changes no op's place.
func (b *Builder) Before() {
	wakes := b.P.Wakers()
	for i := range b.P.Lists {
		l := &b.P.Lists[i]
		if !l.Born && l.Begins.State == runnable {
			b.over(l)
		}
		if l.Born || l.Begins.State != Waiting {
			continue
		}
		// A goroutine that is woken for a lock which another one takes first (barging) waits again.
		// All its waits are one operation, which is done at the last of them. A second element
		// would be a second operation.
		last, late, kind, object := -1, int32(lateUnknown), OpWait, int32(-1)
		for k := range l.Ops { // one that tries again for a lock waits again
			o := &l.Ops[k]
			if o.Kind == OpRun || o.Kind == OpWake || b.openBefore(o) {
				continue
			}
			if o.Kind != OpWait || b.Dead[o.Arg] || wakes[o.Arg].List < 0 {
				break
			}
			other := b.belongs(wakes[o.Arg])
			if other == nil || last >= 0 && other.Arg != object || !b.P.wakes(other.Kind, b.P.SiteOf(wakes[o.Arg])) {
				break
			}
			now := l.otherSide(other)
			if now == OpWait || last >= 0 && (now != kind || kind == OpSend || kind == OpReceive) {
				break
			}
			b.Dead[o.Arg] = true
			if last < 0 {
				late = o.Late
			} else {
				l.Ops[last] = Op{Kind: OpRun, At: o.At, Set: o.Set}
			}
			last, kind, object = k, now, other.Arg
		}
		if last >= 0 {
			b.put(l, last, Op{Kind: kind, Arg: object, Late: late})
		}
	}
}

// over drops the operation on a channel without room that a goroutine was done with before the
// window, though it has yet to run: one that is done in the window without a wait wakes its other
// side (runtime/chan.go: without a buffer one side always waits, and the other one wakes it). Left
// in, it would wait for a second other side. With a buffer the op stays: the levels count its
// element in any case. TestOver holds the rule.
func (b *Builder) over(l *List) {
	for k := range l.Ops {
		o := &l.Ops[k]
		if o.Kind == OpRun || b.openBefore(o) {
			continue
		}
		if (o.Kind == OpSend || o.Kind == OpReceive) && o.D == o.At && b.P.Objects[o.Arg].Capacity == 0 && !l.wakesAfter(k) {
			o.Pass()
		}
		return
	}
}

// openBefore reports whether an op is the beginning of a span that was open when the window began,
// as the windows of a longer recording have it.
func (b *Builder) openBefore(o *Op) bool { return o.Kind == OpOpen && o.At <= b.P.Rec.Start }

// wakesAfter reports whether an op wakes another goroutine before anything else is done.
func (l *List) wakesAfter(at int) bool {
	for _, o := range l.Ops[at+1:] {
		if o.Kind != OpRun {
			return o.Kind == OpWake
		}
	}
	return false
}

// put has a list do an operation in place of a wait. Where the operation's end is marked behind the
// wait it is that op, and the wait is gone; else the wait becomes the operation. Levels are then of
// operations without the new one, and corrected.
func (b *Builder) put(l *List, at int, done Op) {
	o := &l.Ops[at]
	n := l.after(at)
	// It is marked where it is done.
	if n > 0 && l.Ops[n].Kind == done.Kind && l.Ops[n].Arg == done.Arg && !l.Ops[n].beganAfter(o.At) {
		l.Ops[n].Late, l.Ops[n].Site = done.Late, o.Site
		*o = Op{Kind: OpRun, At: o.At, Set: o.Set}
	} else {
		n = at
		*o = Op{Kind: done.Kind, Arg: done.Arg, At: o.At, Late: done.Late, Site: o.Site, Set: o.Set, Free: o.Free, Loose: o.Loose}
	}
	switch lv := &b.Levels[done.Arg]; done.Kind {
	// D is when it began: with the window at the latest, so that its element is matched before
	// those of operations that began in it.
	case OpSend, OpReceive:
		l.Ops[n].D = b.P.Rec.Start
		lv.waited(done.Kind, &b.P.Objects[done.Arg])
	case OpLock, OpWriteLock, OpReadLock:
		if n != at {
			break
		}
		// Without a mark where the lock was taken, its release seemed to be of a lock held at
		// first. A writer that waited for readers is the first to give a write lock back.
		switch { // its release is of a lock that it had not at first
		case done.Kind == OpReadLock:
			lv.Low++
		case l.Ops[n].At < lv.released:
			b.P.Objects[done.Arg].Held = false
		}
		l.held(at, done.Arg)
	}
}

// beganAfter reports whether a send or a receive has a mark of where it began, behind a time: it is
// another one than what was over then.
func (o *Op) beganAfter(at int64) bool {
	return (o.Kind == OpSend || o.Kind == OpReceive) && o.D >= at && o.D < o.At
}

// after returns the next op that is more than computing, 0 for none.
func (l *List) after(i int) int {
	for k := i + 1; k < len(l.Ops); k++ {
		if o := &l.Ops[k]; o.Kind != OpRun && o.Kind != OpWake {
			return k
		}
	}
	return 0
}

// belongs returns the operation that a wake-up is part of, nil for none. Where it stands in the
// list of the waker depends on its marks. These are, in the order in which they are tried:
//
//	S wake s   two marks, and the wake-up between them: the op is behind it, and began before
//	u wake     one mark before it takes effect: the op is before it, and near
//	wake r     one mark behind it: the op is behind it, and began near
//
// Only the next op that is more than computing or a wake-up counts, so that a wake-up of something
// else in between leaves it unknown.
func (b *Builder) belongs(at Place) *Op {
	l := &b.P.Lists[at.List]
	woken := l.Ops[at.Op].At
	var next *Op
	if n := l.after(int(at.Op)); n > 0 {
		next = &l.Ops[n]
	}
	if next != nil && (next.Kind == OpSend || next.Kind == OpReceive) && next.D <= woken { // it has two marks
		return next
	}
	for k := at.Op - 1; k >= 0; k-- {
		o := &l.Ops[k]
		if o.Kind == OpRun || o.Kind == OpWake {
			continue
		}
		if woken-o.At > Near {
			break
		}
		switch o.Kind {
		case OpUnlock, OpWriteUnlock, OpReadUnlock, OpAdd: // marked before it takes effect
			return o
		case OpSend, OpReceive:
			if o.D == o.At { // it has one mark
				return o
			}
		}
		break
	}
	if next != nil && next.Kind == OpReceive && next.D-woken <= Near { // marked behind
		return next
	}
	return nil
}

// wakes reports whether a waker's stack is one of an operation of a kind; without a stack it may
// be. Locks and wait groups wake by a semaphore. The innermost frame is then theirs, since the
// runtime skips its own (runtime/sema.go, readyWithTime). A select statement may send or receive.
func (p *Program) wakes(kind OpKind, site int32) bool {
	s := p.Rec.Sites[site]
	if len(s.Frames) == 0 {
		return true
	}
	first := s.Frames[0].Func
	if kind == OpSend || kind == OpReceive {
		return Direction(s) == kind || first == "runtime.selectgo"
	}
	return strings.HasPrefix(first, "sync.") || strings.HasPrefix(first, "internal/sync.")
}

// otherSide returns what a list has waited for that an operation let go on, OpWait if that is not
// known. For a lock it is the list's first operation on it that counts: a release is of what the
// wait was for, while a lock that is taken first has nothing to do with it.
func (l *List) otherSide(o *Op) OpKind {
	switch o.Kind {
	case OpSend:
		return OpReceive
	case OpReceive:
		return OpSend
	case OpAdd:
		return OpJoin
	}
	for k := range l.Ops { // one that has waited for a lock has one to release
		switch x := &l.Ops[k]; {
		case x.Arg != o.Arg:
		case x.Kind == OpUnlock:
			return OpLock
		case x.Kind == OpWriteUnlock:
			return OpWriteLock
		case x.Kind == OpReadUnlock:
			return OpReadLock
		case x.Kind == OpLock, x.Kind == OpWriteLock, x.Kind == OpReadLock:
			return OpWait
		}
	}
	return OpWait
}

// waited notes that a goroutine waited to send or to receive when the window began: there was no
// room, or no element. That is surer than what levels show, and replaces it. The capacity must be
// known, from an operation with a mark.
func (v *level) waited(kind OpKind, o *ObjectInfo) {
	v.Full, v.Exact = 0, true
	if kind == OpSend {
		v.Full = o.Capacity
	}
}

// held notes that a lock is held from an op of a list, up to the op before its release: the list
// cannot begin anew there.
func (l *List) held(at int, object int32) {
	for k := at; k < len(l.Ops); k++ {
		o := &l.Ops[k]
		if k > at && o.Arg == object && (o.Kind == OpUnlock || o.Kind == OpWriteUnlock || o.Kind == OpReadUnlock) {
			return
		}
		o.Free, o.Loose = false, false
	}
}
