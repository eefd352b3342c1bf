package model

import (
	"slices"
	"strings"
)

// An operation that began before the window has left no mark: its goroutine waits when the window
// begins, and is woken by the operation that is its other side. What would be left as a wait for a
// goroutine would be done twice in a replay, by that wake-up and by what the object decides: an
// element would be received, and be there still.

// Near is how far from a wake-up the mark of the operation that it belongs to may be, ns.
const Near = 100_000

// Before puts the operations in place of the waits that they were.
func (b *Builder) Before() {
	wakes := slices.Repeat([]Place{{-1, -1}}, int(b.P.Tokens))
	for l := range b.P.Lists {
		for k := range b.P.Lists[l].Ops {
			if o := &b.P.Lists[l].Ops[k]; o.Kind == OpWake {
				wakes[o.Arg] = Place{int32(l), int32(k)}
			}
		}
	}
	for i := range b.P.Lists {
		l := &b.P.Lists[i]
		if !l.Born && l.Begins.State == runnable {
			b.over(l)
		}
		if l.Born || l.Begins.State != Waiting {
			continue
		}
		last, late, kind, object := -1, int32(lateUnknown), OpWait, int32(-1)
		for k := range l.Ops { // one that tries again for a lock waits again
			o := &l.Ops[k]
			if o.Kind == OpRun || o.Kind == OpWake {
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
// side.
func (b *Builder) over(l *List) {
	for k := range l.Ops {
		o := &l.Ops[k]
		if o.Kind == OpRun {
			continue
		}
		if (o.Kind == OpSend || o.Kind == OpReceive) && o.D == o.At && b.P.Objects[o.Arg].Capacity == 0 && !l.wakesAfter(k) {
			*o = Op{Kind: OpRun, At: o.At, Set: o.Set, Free: o.Free, Loose: o.Loose}
		}
		return
	}
}

// wakesAfter reports whether an op wakes another goroutine before anything else is done.
func (l *List) wakesAfter(at int) bool {
	for _, o := range l.Ops[at+1:] {
		if o.Kind != OpRun {
			return o.Kind == OpWake
		}
	}
	return false
}

// put has a list do an operation in place of a wait.
func (b *Builder) put(l *List, at int, done Op) {
	o := &l.Ops[at]
	n := l.after(at)
	if n > 0 && l.Ops[n].Kind == done.Kind && l.Ops[n].Arg == done.Arg && !l.Ops[n].beganAfter(o.At) { // it is marked where it is done
		l.Ops[n].Late, l.Ops[n].Site = done.Late, o.Site
		*o = Op{Kind: OpRun, At: o.At, Set: o.Set}
	} else {
		n = at
		*o = Op{Kind: done.Kind, Arg: done.Arg, At: o.At, Late: done.Late, Site: o.Site, Set: o.Set, Free: o.Free, Loose: o.Loose}
	}
	switch lv := &b.Levels[done.Arg]; done.Kind {
	case OpSend, OpReceive:
		l.Ops[n].D = b.P.Rec.Start
		lv.waited(done.Kind, &b.P.Objects[done.Arg])
	case OpLock, OpWriteLock, OpReadLock:
		if n != at {
			break
		}
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

// belongs returns the operation that a wake-up is part of, nil for none.
func (b *Builder) belongs(at Place) *Op {
	ops := b.P.Lists[at.List].Ops
	woken := ops[at.Op].At
	for k := at.Op + 1; int(k) < len(ops); k++ {
		o := &ops[k]
		if o.Kind == OpRun || o.Kind == OpWake {
			continue
		}
		if (o.Kind == OpSend || o.Kind == OpReceive) && o.D <= woken { // it is marked where it begins and ends
			return o
		}
		break
	}
	for k := at.Op - 1; k >= 0; k-- {
		o := &ops[k]
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
	for k := at.Op + 1; int(k) < len(ops); k++ {
		o := &ops[k]
		if o.Kind == OpRun || o.Kind == OpWake {
			continue
		}
		if o.Kind == OpReceive && o.D-woken <= Near { // marked behind
			return o
		}
		break
	}
	return nil
}

// wakes reports whether a waker's stack is one of an operation of a kind; without a stack it may
// be.
func (p *Program) wakes(kind OpKind, site int32) bool {
	if len(p.Rec.Sites[site].Frames) == 0 {
		return true
	}
	switch kind {
	case OpSend, OpReceive:
		return Direction(p.Rec, site) == kind || p.Rec.Sites[site].Frames[0].Func == "runtime.selectgo"
	}
	return strings.HasPrefix(p.Rec.Sites[site].Frames[0].Func, "sync.") || strings.HasPrefix(p.Rec.Sites[site].Frames[0].Func, "internal/sync.")
}

// otherSide returns what a list has waited for that an operation let go on, OpWait if that is not
// known.
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
// room, or no element.
func (v *level) waited(kind OpKind, o *ObjectInfo) {
	v.Full = 0
	if kind == OpSend {
		v.Full = o.Capacity
	}
}

// held notes that a lock is held from an op of a list.
func (l *List) held(at int, object int32) {
	for k := at; k < len(l.Ops); k++ {
		o := &l.Ops[k]
		if k > at && o.Arg == object && (o.Kind == OpUnlock || o.Kind == OpWriteUnlock || o.Kind == OpReadUnlock) {
			return
		}
		o.Free, o.Loose = false, false
	}
}
