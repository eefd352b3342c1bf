package replay

import (
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
)

// operate books an operation on an object: of one that may wait, where it begins and where it is done.
func (b *builder) operate(g int32, e *event) {
	f := &b.g[g]
	what := e.what
	fills := b.fillers[g]
	if fills != nil && what == mark.Select {
		b.refused(g, fills, e.at)
		return
	}
	begins := what.Begins()
	if f.open >= 0 && f.what == mark.Select.Beginning() && what != mark.Select.Beginning() && !ends(mark.Select.Beginning(), what) {
		f.open = -1 // a select that took a case whose channel has no marks
	}
	if begins {
		if what == mark.Select.Beginning() && f.open >= 0 && f.what == mark.Select.Beginning() {
			if !b.waitedSince(g, f.open) { // another case
				b.told(g, e.ref)
				return
			}
			f.open = -1
		}
		if f.open < 0 {
			if what == mark.Select.Beginning() {
				b.p.told = append(b.p.told, nil)
				b.emit(g, op{kind: opChoose, arg: b.objectOf(e.ref), at: e.at, late: -1, nth: int32(len(b.p.told))})
			}
			f.open, f.what, f.object, f.begun = int32(len(b.p.lists[g].ops)), what, b.objectOf(e.ref), e.at
			if what == mark.Select.Beginning() {
				b.told(g, e.ref)
			}
			if what == mark.Send.Beginning() { // it has sent, as far as others can see
				f.found = b.levels[f.object].now
				b.levels[f.object].take(1)
			}
		}
		f.first = false
		return
	}
	slow := false
	if f.open >= 0 {
		if !ends(f.what, what) || f.what != mark.Select.Beginning() && f.object != b.objectOf(e.ref) {
			return // within the one that may wait
		}
		slow = true
	}
	w := wait{begun: e.at, late: -1}
	switch {
	case slow:
		w = b.fold(g, f.open)
		w.begun, w.chosen, f.open = f.begun, f.what == mark.Select.Beginning(), -1
	case f.first && acquires(what) && !b.p.lists[g].born: // it has waited since before the window
		if n := len(b.p.lists[g].ops); n > 0 && n <= 4 && b.p.lists[g].has(opWait) {
			w = b.fold(g, 0)
			w.begun = b.p.rec.Start
		}
	}
	f.first = false
	b.perform(g, e, slow && f.what == mark.Send.Beginning(), w)
}

// told adds a channel that the select statement which a goroutine has come to may receive from, or send to.
func (b *builder) told(g, ref int32) {
	begins := &b.p.lists[g].ops[b.g[g].open-1]
	cases := &b.p.told[begins.nth-1]
	*cases = append(*cases, b.objectOf(ref))
}

// waitedSince reports whether a goroutine has waited behind an op.
func (b *builder) waitedSince(g, from int32) bool {
	return slices.ContainsFunc(b.p.lists[g].ops[from:], func(o op) bool { return o.kind == opWait || o.kind == opOut })
}

func acquires(what mark.Op) bool {
	switch what {
	case mark.Lock, mark.WriteLock, mark.ReadLock, mark.Wait, mark.Receive, mark.Await:
		return true
	}
	return false
}

// ends reports whether an operation is the end of one that began.
func ends(begin, end mark.Op) bool {
	switch begin {
	case mark.Select.Beginning():
		return end == mark.Select || end == mark.Send || end == mark.Receive || end == mark.TrySend || end == mark.TryReceive || end == mark.Closed
	case mark.Receive.Beginning():
		return end == mark.Receive || end == mark.Closed
	}
	return begin == end.Beginning()
}

// A wait is what an operation did besides: nothing, or wait for a goroutine or for something outside.
type wait struct {
	waited, outside bool
	chosen          bool  // it was a select statement
	begun           int64 // when the operation did
	d               int64 // for so long
	late            int32
	site            int32
	ops             []op // what waited
}

// fold takes what the list did since op from off it, but for computing without a wait, and what lets others go on. What waited is
// valid until the next call.
func (b *builder) fold(g, from int32) wait {
	l := &b.p.lists[g]
	w := wait{late: -1, ops: b.waited[:0]}
	b.computed = b.computed[:0]
	kept := l.ops[:from]
	for _, o := range l.ops[from:] {
		switch o.kind {
		case opWait, opOut:
			if !w.waited { // later ones, for a lock that another one has taken meanwhile, came too late
				w.late = o.late
			}
			w.waited, w.outside = true, o.kind == opOut
			w.d += o.d
			w.site = o.site
			w.ops = append(w.ops, o)
		case opWake, opSpawn:
			kept = append(kept, o)
		case opRun:
			b.computed = append(b.computed, o)
		}
	}
	if !w.waited {
		kept = append(kept, b.computed...)
	}
	l.ops, b.waited = kept, w.ops
	return w
}

// drop gives up the waits of an operation: the object decides anew how long they take.
func (b *builder) drop(w wait) {
	for _, o := range w.ops {
		if o.kind == opWait {
			b.dead[o.arg] = true
		}
	}
}

// keep leaves the last wait of an operation as it was.
func (b *builder) keep(g int32, w wait) {
	for i, o := range w.ops {
		if i < len(w.ops)-1 {
			if o.kind == opWait {
				b.dead[o.arg] = true
			}
			continue
		}
		b.g[g].woken = b.emit(g, o)
	}
}

// perform adds the operation to the list.
func (b *builder) perform(g int32, e *event, sent bool, w wait) {
	kind, object, locks := operationOf(e.what)
	if object == objectNone {
		b.performOther(g, e, w)
		return
	}
	f, i := &b.g[g], b.objectOf(e.ref)
	o := &b.p.objects[i]
	o.kind = object
	timed := w.outside && kind == opReceive
	if timed {
		b.keep(g, w)
	} else {
		b.drop(w)
	}
	if w.waited && w.site != 0 {
		o.site = w.site
	}
	b.book(g, i, kind, e, sent, w)
	if locks != 0 {
		b.holds(f, i, locks)
	}
	if k := b.emit(g, b.opOn(g, i, kind, e, w)); !timed {
		f.woken = k
	}
}

// operationOf returns the op and the object of an operation, and how many more locks its goroutine has; no object for other operations.
func operationOf(what mark.Op) (kind opKind, object objectKind, locks int32) {
	switch what {
	case mark.Lock:
		return opLock, objectMutex, 1
	case mark.Unlock:
		return opUnlock, objectMutex, -1
	case mark.WriteLock:
		return opWriteLock, objectRWMutex, 1
	case mark.WriteUnlock:
		return opWriteUnlock, objectRWMutex, -1
	case mark.ReadLock:
		return opReadLock, objectRWMutex, 1
	case mark.ReadUnlock:
		return opReadUnlock, objectRWMutex, -1
	case mark.Add:
		return opAdd, objectWaitGroup, 0
	case mark.Wait:
		return opJoin, objectWaitGroup, 0
	case mark.Send, mark.TrySend:
		return opSend, objectChan, 0
	case mark.Receive, mark.TryReceive:
		return opReceive, objectChan, 0
	}
	return 0, objectNone, 0
}

// performOther adds an operation of a condition variable, a close, or a receive that a close ends.
func (b *builder) performOther(g int32, e *event, w wait) {
	switch e.what {
	case mark.Await:
		b.again(g, w)
		b.emit(g, op{kind: opAwait, arg: b.objectOf(e.ref), at: e.at})
	case mark.Signal, mark.Broadcast:
		b.keep(g, w)
		b.emit(g, op{kind: opSignal, arg: b.objectOf(e.ref), at: e.at})
	default: // a close, or a receive that one ends: it wakes the goroutines that wait
		b.keep(g, w)
		b.closed(g, e, w.waited || w.chosen)
	}
}

// book follows what an operation changes: what its object holds, and how long a lock is held and waited for.
func (b *builder) book(g, object int32, kind opKind, e *event, sent bool, w wait) {
	o, lv := &b.p.objects[object], &b.levels[object]
	switch kind {
	case opLock, opWriteLock:
		lv.busy.locked(e.at)
		lv.writers++
		lv.heldEvents++
	case opUnlock, opWriteUnlock:
		lv.busy.unlocked(e.at, b.p.rec.Start)
		if lv.heldEvents == 0 {
			o.held, lv.released = true, e.at
		}
		lv.heldEvents++
	case opReadLock:
		lv.busy.locked(e.at)
		lv.take(1)
	case opReadUnlock:
		lv.busy.unlocked(e.at, b.p.rec.Start)
		lv.take(-1)
	case opAdd:
		lv.take(e.arg)
	case opSend:
		o.capacity = max(0, e.arg)
		lv.sends++
		if !sent {
			lv.take(1)
		} else if w.waited && o.capacity > 0 {
			lv.foundFull(o.capacity - b.g[g].found)
		}
	case opReceive:
		o.capacity = max(0, e.arg)
		lv.take(-1)
	}
	if kind == opLock || kind == opWriteLock || kind == opReadLock {
		lv.busy.waited += w.d
		if w.waited {
			lv.busy.waits++
		}
	}
}

// opOn returns the op of an operation on an object.
func (b *builder) opOn(g, object int32, kind opKind, e *event, w wait) op {
	x := op{kind: kind, arg: object, at: e.at, late: w.late, site: w.site, tries: e.what == mark.TrySend || e.what == mark.TryReceive, drops: b.fillers[g] != nil}
	switch kind {
	case opAdd:
		x.d = int64(e.arg)
	case opReceive:
		x.d = w.begun
		if n := len(w.ops); n > 0 && w.ops[n-1].kind == opWait {
			x.answers = w.ops[n-1].arg + 1
		}
	case opSend:
		x.d = w.begun
	case opLock, opWriteLock, opReadLock:
		x.d = w.d
	}
	return x
}

// holds follows how many locks a goroutine has.
func (b *builder) holds(f *follower, object, change int32) {
	if f.locks == nil {
		f.locks = map[int32]int32{}
	}
	if change < 0 && f.locks[object] == 0 {
		return // locked by another one, or before the window
	}
	f.locks[object] += change
	f.held += change
}

// again books a wait for a signal. A goroutine that is woken and waits again at once, since what it waits for is not so yet, waits
// for the last signal only.
func (b *builder) again(g int32, w wait) {
	if !w.waited {
		return
	}
	l := &b.p.lists[g]
	// The list ends: wait for a signal, lock, perhaps computing, unlock.
	n := len(l.ops)
	i := n - 1
	if i >= 0 && l.ops[i].kind == opUnlock {
		lock := l.ops[i].arg
		i--
		if i >= 0 && l.ops[i].kind == opRun && l.ops[i].d < shortSyscall {
			i--
		}
		if i >= 2 && l.ops[i].kind == opLock && l.ops[i].arg == lock && l.ops[i-1].kind == opAwait && l.ops[i-2].kind == opWait && l.ops[i-2].reason == waitSignal {
			b.dead[l.ops[i-2].arg] = true
			l.ops = l.ops[:i-2]
		}
	}
	for i := range w.ops {
		w.ops[i].reason = waitSignal
	}
	b.keep(g, w)
}

// The reasons of waits for condition variables: without a known rule for when goroutines have to, and for what is done once for all.
const (
	waitSignal = 64 + iota
	waitBusy
)

// objectOf returns the program's number of an object, by the recording's.
func (b *builder) objectOf(number int32) int32 {
	i := b.objects[number]
	if i < 0 {
		i = int32(len(b.p.objects))
		b.p.objects = append(b.p.objects, objectInfo{pool: b.p.rec.pools[number]})
		b.levels = append(b.levels, level{full: -1})
		b.objects[number] = i
	}
	return i
}

func (v *level) take(n int32) {
	v.now += n
	v.low = min(v.low, v.now)
}

// foundFull notes that a sender had to wait, so that there must have been atFirst elements at first.
func (v *level) foundFull(atFirst int32) {
	if v.full < 0 {
		v.full = max(0, atFirst)
	}
}
