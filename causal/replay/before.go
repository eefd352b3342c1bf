package replay

// An operation that began before the window has left no mark: its goroutine waits when the window begins, and is woken by
// the operation that is its other side. What would be left as a wait for a goroutine would be done twice in a replay, by
// that wake-up and by what the object decides: an element would be received, and be there still.

// near is how far from a wake-up the mark of the operation that it belongs to may be, ns.
const near = 20_000

// before puts the operations in place of the waits that they were.
func (b *builder) before() {
	wakes := make([]place, b.p.tokens)
	for l := range b.p.lists {
		for k := range b.p.lists[l].ops {
			if o := &b.p.lists[l].ops[k]; o.kind == opWake {
				wakes[o.arg] = place{int32(l), int32(k)}
			}
		}
	}
	for i := range b.p.lists {
		l := &b.p.lists[i]
		if l.born || l.begins.state != waiting || len(l.ops) == 0 || l.ops[0].kind != opWait || b.dead[l.ops[0].arg] {
			continue
		}
		o := &l.ops[0]
		other := b.belongs(wakes[o.arg])
		if other == nil {
			continue
		}
		kind := l.otherSide(other)
		if kind == opWait {
			continue
		}
		b.dead[o.arg] = true
		if n := l.after(0); n > 0 && l.ops[n].kind == kind && l.ops[n].arg == other.arg { // it is marked where it is done
			if kind == opSend || kind == opReceive {
				l.ops[n].d = b.p.rec.Start
				b.levels[other.arg].waited(kind, &b.p.objects[other.arg])
			}
			l.ops[n].late, l.ops[n].site = o.late, o.site
			*o = op{kind: opRun, at: o.at, set: o.set}
			continue
		}
		*o = op{kind: kind, arg: other.arg, at: o.at, late: o.late, site: o.site, set: o.set, free: o.free, loose: o.loose}
		switch kind {
		case opSend, opReceive:
			o.d = b.p.rec.Start
			b.levels[o.arg].waited(kind, &b.p.objects[o.arg])
		case opLock, opWriteLock, opReadLock:
			if kind == opReadLock {
				b.levels[o.arg].low++ // its release is of a lock that nobody had at first
			}
			l.held(o.arg)
		}
	}
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
		case opSend:
			if o.d == o.at { // it has no mark where it is done
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

// otherSide returns what a list has waited for that an operation let go on, opWait if that is not known.
func (l *list) otherSide(o *op) opKind {
	switch o.kind {
	case opSend:
		return opReceive
	case opReceive:
		return opSend
	case opAdd:
		return opJoin
	case opUnlock:
		return opLock
	case opReadUnlock:
		return opWriteLock
	case opWriteUnlock:
		for k := range l.ops {
			switch x := &l.ops[k]; {
			case x.arg != o.arg:
			case x.kind == opWriteUnlock:
				return opWriteLock
			case x.kind == opReadUnlock:
				return opReadLock
			}
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

// held notes that a lock is held from the beginning of a list.
func (l *list) held(object int32) {
	for k := range l.ops {
		o := &l.ops[k]
		if k > 0 && o.arg == object && (o.kind == opUnlock || o.kind == opWriteUnlock || o.kind == opReadUnlock) {
			return
		}
		o.free, o.loose = false, false
	}
}
