package replay

import (
	"slices"
	"strings"
)

// An operation that began before the window has left no mark: its goroutine waits when the window begins, and is woken by
// the operation that is its other side. What would be left as a wait for a goroutine would be done twice in a replay, by
// that wake-up and by what the object decides: an element would be received, and be there still.

// near is how far from a wake-up the mark of the operation that it belongs to may be, ns.
const near = 100_000

// before puts the operations in place of the waits that they were.
func (b *builder) before() {
	wakes := slices.Repeat([]place{{-1, -1}}, int(b.p.tokens))
	for l := range b.p.lists {
		for k := range b.p.lists[l].ops {
			if o := &b.p.lists[l].ops[k]; o.kind == opWake {
				wakes[o.arg] = place{int32(l), int32(k)}
			}
		}
	}
	for i := range b.p.lists {
		l := &b.p.lists[i]
		if !l.born && l.begins.state == runnable {
			b.over(l)
		}
		if l.born || l.begins.state != waiting {
			continue
		}
		last, late, kind, object := -1, int32(lateUnknown), opWait, int32(-1)
		for k := range l.ops { // one that tries again for a lock waits again
			o := &l.ops[k]
			if o.kind == opRun || o.kind == opWake {
				continue
			}
			if o.kind != opWait || b.dead[o.arg] || wakes[o.arg].list < 0 {
				break
			}
			other := b.belongs(wakes[o.arg])
			if other == nil || last >= 0 && other.arg != object || !b.p.wakes(other.kind, b.p.siteOf(wakes[o.arg])) {
				break
			}
			now := l.otherSide(other)
			if now == opWait || last >= 0 && (now != kind || kind == opSend || kind == opReceive) {
				break
			}
			b.dead[o.arg] = true
			if last < 0 {
				late = o.late
			} else {
				l.ops[last] = op{kind: opRun, at: o.at, set: o.set}
			}
			last, kind, object = k, now, other.arg
		}
		if last >= 0 {
			b.put(l, last, op{kind: kind, arg: object, late: late})
		}
	}
}

// over drops the operation on a channel without room that a goroutine was done with before the window, though it has yet to run:
// one that is done in the window without a wait wakes its other side.
func (b *builder) over(l *list) {
	for k := range l.ops {
		o := &l.ops[k]
		if o.kind == opRun {
			continue
		}
		if (o.kind == opSend || o.kind == opReceive) && o.d == o.at && b.p.objects[o.arg].capacity == 0 && !l.wakesAfter(k) {
			*o = op{kind: opRun, at: o.at, set: o.set, free: o.free, loose: o.loose}
		}
		return
	}
}

// wakesAfter reports whether an op wakes another goroutine before anything else is done.
func (l *list) wakesAfter(at int) bool {
	for _, o := range l.ops[at+1:] {
		if o.kind != opRun {
			return o.kind == opWake
		}
	}
	return false
}

// put has a list do an operation in place of a wait.
func (b *builder) put(l *list, at int, done op) {
	o := &l.ops[at]
	n := l.after(at)
	if n > 0 && l.ops[n].kind == done.kind && l.ops[n].arg == done.arg && !l.ops[n].beganAfter(o.at) { // it is marked where it is done
		l.ops[n].late, l.ops[n].site = done.late, o.site
		*o = op{kind: opRun, at: o.at, set: o.set}
	} else {
		n = at
		*o = op{kind: done.kind, arg: done.arg, at: o.at, late: done.late, site: o.site, set: o.set, free: o.free, loose: o.loose}
	}
	switch lv := &b.levels[done.arg]; done.kind {
	case opSend, opReceive:
		l.ops[n].d = b.p.rec.Start
		lv.waited(done.kind, &b.p.objects[done.arg])
	case opLock, opWriteLock, opReadLock:
		if n != at {
			break
		}
		switch { // its release is of a lock that it had not at first
		case done.kind == opReadLock:
			lv.low++
		case l.ops[n].at < lv.released:
			b.p.objects[done.arg].held = false
		}
		l.held(at, done.arg)
	}
}

// beganAfter reports whether a send or a receive has a mark of where it began, behind a time: it is another one than what was
// over then.
func (o *op) beganAfter(at int64) bool {
	return (o.kind == opSend || o.kind == opReceive) && o.d >= at && o.d < o.at
}

// after returns the next op that is more than computing, 0 for none.
func (l *list) after(i int) int {
	for k := i + 1; k < len(l.ops); k++ {
		if o := &l.ops[k]; o.kind != opRun && o.kind != opWake {
			return k
		}
	}
	return 0
}

// belongs returns the operation that a wake-up is part of, nil for none.
func (b *builder) belongs(at place) *op {
	ops := b.p.lists[at.list].ops
	woken := ops[at.op].at
	for k := at.op + 1; int(k) < len(ops); k++ {
		o := &ops[k]
		if o.kind == opRun || o.kind == opWake {
			continue
		}
		if (o.kind == opSend || o.kind == opReceive) && o.d <= woken { // it is marked where it begins and ends
			return o
		}
		break
	}
	for k := at.op - 1; k >= 0; k-- {
		o := &ops[k]
		if o.kind == opRun || o.kind == opWake {
			continue
		}
		if woken-o.at > near {
			break
		}
		switch o.kind {
		case opUnlock, opWriteUnlock, opReadUnlock, opAdd: // marked before it takes effect
			return o
		case opSend, opReceive:
			if o.d == o.at { // it has one mark
				return o
			}
		}
		break
	}
	for k := at.op + 1; int(k) < len(ops); k++ {
		o := &ops[k]
		if o.kind == opRun || o.kind == opWake {
			continue
		}
		if o.kind == opReceive && o.d-woken <= near { // marked behind
			return o
		}
		break
	}
	return nil
}

// wakes reports whether a waker's stack is one of an operation of a kind; without a stack it may be.
func (p *program) wakes(kind opKind, site int32) bool {
	if len(p.rec.sites[site].Frames) == 0 {
		return true
	}
	switch kind {
	case opSend, opReceive:
		return p.rec.direction(site) == kind || p.rec.sites[site].Frames[0].Func == "runtime.selectgo"
	}
	return strings.HasPrefix(p.rec.sites[site].Frames[0].Func, "sync.") || strings.HasPrefix(p.rec.sites[site].Frames[0].Func, "internal/sync.")
}

// otherSide returns what a list has waited for that an operation let go on, opWait if that is not known.
func (l *list) otherSide(o *op) opKind {
	switch o.kind {
	case opSend:
		return opReceive
	case opReceive:
		return opSend
	case opAdd:
		return opJoin
	}
	for k := range l.ops { // one that has waited for a lock has one to release
		switch x := &l.ops[k]; {
		case x.arg != o.arg:
		case x.kind == opUnlock:
			return opLock
		case x.kind == opWriteUnlock:
			return opWriteLock
		case x.kind == opReadUnlock:
			return opReadLock
		case x.kind == opLock, x.kind == opWriteLock, x.kind == opReadLock:
			return opWait
		}
	}
	return opWait
}

// waited notes that a goroutine waited to send or to receive when the window began: there was no room, or no element.
func (v *level) waited(kind opKind, o *objectInfo) {
	v.full = 0
	if kind == opSend {
		v.full = o.capacity
	}
}

// held notes that a lock is held from an op of a list.
func (l *list) held(at int, object int32) {
	for k := at; k < len(l.ops); k++ {
		o := &l.ops[k]
		if k > at && o.arg == object && (o.kind == opUnlock || o.kind == opWriteUnlock || o.kind == opReadUnlock) {
			return
		}
		o.free, o.loose = false, false
	}
}
