package replay

import (
	"slices"
)

// finish closes the lists at the end of the window.
func (b *builder) finish() {
	end := b.p.rec.End
	for g := range b.g {
		f := &b.g[g]
		if f.state == running || f.state == inSyscall {
			b.advance(int32(g), end)
		}
	}
	rec := b.p.rec
	rec.each(b.punctual, b.p.parents, b.fromOutside, b.before, b.letIn)
	for i := range b.p.objects {
		o, lv := &b.p.objects[i], &b.levels[i]
		switch o.kind {
		case objectRWMutex:
			o.readers = -lv.low
		case objectWaitGroup:
			o.count = -lv.low
		case objectChan:
			o.count = -lv.low
			if lv.full >= 0 {
				o.count = lv.full
			}
			if o.counted {
				o.count = o.there
			}
			o.count = min(o.count, o.capacity)
			if lv.now-lv.low > o.capacity && lv.sends <= 2 { // given up by its receiver
				o.capacity = lv.sends + 1
			}
		}
	}
	rec.each(b.p.findChoices, b.conditions, b.batches, b.setAside, func() { b.p.swap = median(b.swap, 500) }, b.settle,
		func() { b.p.tardy = b.p.tardiness() }, b.paces)
	for g := range b.p.lists {
		rec.restsAt(g)
		b.p.lists[g].drop(func(o *op) bool { return o.kind == opWake && b.dead[o.arg] })
	}
	rec.each(b.p.parents, b.p.pair, b.p.connect, b.p.match, b.p.handOver, func() { b.p.errands = b.findErrands() }, b.p.timetables, func() { b.p.recorded() })
}

// settle finds what is inferred, or leaves it, and what follows from the rest. It does nothing the second time.
func (p *program) settle(infer bool) {
	if p.settled {
		return
	}
	p.settled = true
	if infer {
		p.rec.each(p.gather, p.infer)
	}
	p.rec.each(p.serve, p.reply, p.arrive, p.hold, p.close, p.findLeft, p.settleChoices, p.settleStores,
		func() { p.patience = p.longestGap() }, p.attribute, p.runErrands)
	for i := range p.lists {
		p.ops += len(p.lists[i].ops)
	}
}

// each makes one pass after the other, and rests in between.
func (r *Recording) each(passes ...func()) {
	for _, pass := range passes {
		r.rests()
		pass()
	}
}

// parents notes by which op each goroutine was started. Ops have their places only when nothing is taken out of lists any more.
func (p *program) parents() {
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opSpawn {
				p.lists[o.arg].spawned = place{int32(l), int32(k)}
			}
		}
	}
}

// longestGap returns three times the longest time without a visit of any progress point.
func (p *program) longestGap() int64 {
	var all []int64
	for _, v := range p.recorded() {
		all = append(all, v...)
	}
	slices.Sort(all)
	last, longest := int64(0), int64(5_000_000)
	for _, at := range append(all, p.rec.End-p.rec.Start) {
		longest = max(longest, at-last)
		last = at
	}
	return 3 * longest
}

func median(v []int64, otherwise int64) int64 {
	if len(v) == 0 {
		return otherwise
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// close finds where lists can begin anew, and what depends on that.
func (p *program) close() {
	for i := range p.lists {
		p.rec.rests()
		l := &p.lists[i]
		if l.born && (l.ended || len(l.ops) == 0) {
			continue
		}
		p.loop(l)
	}
	p.respawn()
	p.rec.rests()
	p.recur()
	p.rec.rests()
	for i := range p.lists {
		l := &p.lists[i]
		p.travelling = p.travelling || l.serves >= 0
		for k := l.from; k < l.to; k++ {
			o := &l.ops[k]
			l.visits = l.visits || o.kind == opVisit || o.kind == opClose && p.pointOf[o.arg] >= 0
		}
	}
}

// An anchor is a kind of op that a list comes back to.
type anchor struct {
	kind opKind
	arg  int32
	site int32
	set  uint16
}

// loop lets a list begin anew behind the op that it comes back to over the longest time, at a moment when no span is open, or always the same are, and
// no lock is held.
func (p *program) loop(l *list) {
	p.loopAt(l, func(o *op) bool { return o.free })
	if l.to == 0 { // there may be no such moment: of the same spans, then
		p.loopAt(l, func(o *op) bool { return o.free || o.loose })
	}
}

func (p *program) loopAt(l *list, may func(o *op) bool) {
	type seen struct {
		anchor
		first, last int32
		n           int
		next        *seen // what came next the last time: most likely again
	}
	all := map[anchor]*seen{}
	before := &seen{}
	for i := range l.ops {
		o := &l.ops[i]
		if !may(o) {
			continue
		}
		a, ok := p.anchorOf(o)
		if !ok {
			continue
		}
		s := before.next
		if s == nil || s.anchor != a {
			s = all[a]
		}
		if s == nil {
			s = &seen{anchor: a, first: int32(i)}
			all[a] = s
		}
		before.next, before = s, s
		s.last = int32(i)
		s.n++
	}
	var best *seen
	var bestKey anchor
	var reach int64 = -1
	for a, s := range all {
		if s.n < 2 {
			continue
		}
		d := l.ops[s.last].at - l.ops[s.first].at
		if a.kind == opVisit { // where there is one, that is the end of a unit of work
			d += d / 20
		}
		if d > reach || d == reach && less(a, bestKey) {
			best, bestKey, reach = s, a, d
		}
	}
	if best == nil || 2*reach < p.rec.End-p.rec.Start { // what it did in a burst would not go on
		return
	}
	l.from, l.to = best.first+1, best.last+1
	p.complete(l, bestKey, may)
	l.rounds = nil
	if p.chooses() && l.has(opChoose) {
		for i := l.from - 1; i < l.to; i++ {
			if a, ok := p.anchorOf(&l.ops[i]); ok && may(&l.ops[i]) && (a == bestKey || a.kind == opSend && bestKey.kind == opSend && a.set == bestKey.set) { // the receiver of the last answer
				l.rounds = append(l.rounds, i)
			}
		}
	}
}

// anchorOf returns what kind of op that is, false if lists do not begin anew behind it.
func (p *program) anchorOf(o *op) (anchor, bool) {
	a := anchor{kind: o.kind, set: o.set}
	switch o.kind {
	case opClose:
		a.arg = p.rec.spans[o.arg].region
	case opWait, opOut, opDue, opGather:
		a.site = o.site
	case opRun, opWake, opSpawn, opOpen, opChoose, opOffer:
		return a, false
	default:
		a.arg = o.arg
	}
	return a, true
}

func less(a, b anchor) bool {
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	if a.arg != b.arg {
		return a.arg < b.arg
	}
	if a.set != b.set {
		return a.set < b.set
	}
	return a.site < b.site
}

// complete has the list begin anew before it starts goroutines that had not come to their end when the window did, if that
// leaves most of it.
func (p *program) complete(l *list, a anchor, may func(o *op) bool) {
	for i := l.from; i < l.to; i++ {
		o := &l.ops[i]
		if o.kind != opSpawn {
			continue
		}
		child := &p.lists[o.arg]
		if child.ended || len(child.ops) == 0 {
			continue
		}
		for k := i; k > l.from; k-- {
			q := &l.ops[k]
			b := anchor{kind: q.kind, arg: q.arg, site: q.site, set: q.set}
			switch q.kind {
			case opClose:
				b.arg, b.site = p.rec.spans[q.arg].region, 0
			case opVisit:
				b.site = 0
			case opWait, opOut, opDue:
				b.arg = 0
			default:
				b.site = 0
			}
			if may(q) && b == a {
				if 10*(q.at-l.ops[l.from-1].at) >= 7*(l.ops[l.to-1].at-l.ops[l.from-1].at) {
					l.to = k + 1
				}
				return
			}
		}
		return
	}
}

// respawn looks at goroutines that were created in the window and are alive at its end: a goroutine that has come back to
// something is started only once.
func (p *program) respawn() {
	for i := range p.lists {
		l := &p.lists[i]
		if l.born && !l.ended && len(l.ops) > 0 {
			p.loop(l)
		}
	}
}
