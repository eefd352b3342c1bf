package replay

import (
	"cmp"
	"slices"
)

// A condition variable shows which goroutine has waited and which has signalled, but not for what. One that comes at another time in the replay
// may have to wait where it did not, or not where it did. So what the condition is must be inferred from the recording: conditions
// finds, for each variable, a rule by which goroutines would have waited just where they did.

// A section is what a goroutine does with the lock of a condition variable, from Lock to Unlock. If it waits in between it
// is the one before the wait and the one behind it.
type section struct {
	list   int32
	first  int // op with which it takes the lock, before it waits
	lock   int // op with which it takes the lock to go on; first where it does not wait
	end    int // op that gives it back
	came   int64
	at     int64 // when it had the lock to go on
	wait   int   // op, -1 for none
	waits  int32 // for this condition variable, -1 for none
	before anchor
	number int // among those of the same list
}

// A signaling is a signal to a condition variable.
type signaling struct {
	op      int
	section *section
}

// A condition is a condition variable in a recording.
type condition struct {
	p        *program
	dead     []bool // tokens
	helps    []bool // tokens, see program.helped
	object   int32
	lock     int32
	passes   []*section // that have waited, or have come from where others have that waited
	signals  []signaling
	others   map[int32][]signaling // of other condition variables, with the same lock
	sections map[int32][]*section  // with its lock, by list
}

// conditions puts in place of the waits for condition variables what decides anew, as far as a rule is known for them.
func (b *builder) conditions() {
	edits := map[int32]*edit{}
	found := b.p.findConditions()
	var helps []bool
	if len(found) > 0 {
		helps = b.p.helped()
	}
	for _, c := range found {
		c.dead, c.helps = b.dead, helps
		for _, other := range found { // which has a rule of its own
			delete(c.others, other.object)
		}
	}
	for _, c := range found {
		rules := []func(*condition) replacement{counts, latest, meets, sequence, refills}
		i := slices.IndexFunc(rules, func(rule func(*condition) replacement) bool {
			b.p.rec.rests()
			r := rule(c)
			if r != nil {
				b.p.rec.rests()
				r(b, edits)
			}
			return r != nil
		})
		if i < 0 {
			b.keepOrder(c)
		}
	}
	for l, e := range edits {
		b.p.rec.rests()
		e.apply(&b.p.lists[l])
	}
}

// keepOrder leaves the waits for a condition variable as they were, with a reason that shows how much that is worth.
func (b *builder) keepOrder(c *condition) {
	reason := uint8(waitSignal)
	if b.p.rec.told || doneForAll(c) {
		reason = waitBusy
	}
	for _, s := range c.passes {
		if s.wait >= 0 {
			b.p.lists[s.list].ops[s.wait].reason = reason
		}
	}
}

// leastSections is how many waits for a condition variable it takes to find a rule.
const leastSections = 20

// findConditions returns the condition variables that goroutines wait for, in the order of their objects.
func (p *program) findConditions() []*condition {
	locks := map[int32]int32{} // by condition variable
	for l := range p.lists {
		for k := range p.lists[l].ops {
			p.rec.restsAt(k)
			if o := &p.lists[l].ops[k]; o.kind == opAwait {
				if before := p.lists[l].lockBefore(k); before >= 0 {
					locks[o.arg] = p.lists[l].ops[before].arg
				}
			}
		}
	}
	all := map[int32]*condition{}
	for object, lock := range locks {
		all[object] = &condition{p: p, object: object, lock: lock, others: map[int32][]signaling{}, sections: map[int32][]*section{}}
		for l := range p.lists {
			all[object].read(p, int32(l), lock)
		}
	}
	var found []*condition
	for _, c := range all {
		if c.choose() {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *condition) int { return cmp.Compare(a.object, b.object) })
	return found
}

// lockBefore returns the op that gives a lock back right before the wait that ends with op k, -1 for none.
func (l *list) lockBefore(k int) int {
	for k--; k >= 0; k-- {
		switch l.ops[k].kind {
		case opRun, opWake, opWait:
		case opUnlock:
			return k
		default:
			return -1
		}
	}
	return -1
}

// read finds the sections of a list.
func (c *condition) read(p *program, list, lock int32) {
	l := &p.lists[list]
	var now *section
	var before anchor
	waited := false
	for k := range l.ops {
		p.rec.restsAt(k)
		o := &l.ops[k]
		switch {
		case o.kind == opLock && o.arg == lock:
			if now != nil && waited {
				now.lock, now.at, waited = k, o.at, false
				continue
			}
			now = &section{list: list, first: k, lock: k, came: o.at, at: o.at, wait: -1, waits: -1, before: before}
		case o.kind == opUnlock && o.arg == lock && now != nil:
			now.end = k
			if next := l.awaits(k); next >= 0 {
				now.waits, waited = l.ops[next].arg, true
				if l.ops[next-1].kind == opWait {
					now.wait = next - 1
				}
				break
			}
			now.number = len(c.sections[list])
			c.sections[list] = append(c.sections[list], now)
		case o.kind == opSignal && now != nil:
			if o.arg == c.object {
				c.signals = append(c.signals, signaling{k, now})
			} else {
				c.others[o.arg] = append(c.others[o.arg], signaling{k, now})
			}
		}
		switch o.kind {
		case opRun, opWake, opSpawn, opSignal, opAwait:
		case opOpen, opClose:
			before = anchor{kind: o.kind, arg: p.rec.spans[o.arg].region}
		case opWait, opOut:
			before = anchor{kind: o.kind, site: o.site}
		default:
			before = anchor{kind: o.kind, arg: o.arg}
		}
	}
}

// awaits returns the mark of a wait for a condition variable right behind op k, -1 for none.
func (l *list) awaits(k int) int {
	for k++; k < len(l.ops); k++ {
		switch l.ops[k].kind {
		case opRun, opWake, opWait:
		case opAwait:
			return k
		default:
			return -1
		}
	}
	return -1
}

// choose finds the sections in which the condition is looked at: sections that waited, and others before which their goroutines
// did the same as before these. It reports whether enough of them have waited.
func (c *condition) choose() bool {
	from, waited := map[anchor]bool{}, 0
	for _, all := range c.sections {
		for _, s := range all {
			if s.waits == c.object {
				from[s.before] = true
				waited++
			}
		}
	}
	for _, all := range c.sections {
		for _, s := range all {
			if s.waits == c.object || s.waits < 0 && from[s.before] {
				c.passes = append(c.passes, s)
			}
		}
	}
	slices.SortFunc(c.passes, func(a, b *section) int { return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.list, b.list)) })
	slices.SortStableFunc(c.signals, func(a, b signaling) int { return cmp.Compare(a.section.at, b.section.at) })
	return waited >= leastSections
}

// An edit is what changes in the ops of a list.
type edit struct {
	drop   map[int]bool
	before map[int][]op
	after  map[int][]op
}

func editOf(edits map[int32]*edit, list int32) *edit {
	e := edits[list]
	if e == nil {
		e = &edit{map[int]bool{}, map[int][]op{}, map[int][]op{}}
		edits[list] = e
	}
	return e
}

func (e *edit) apply(l *list) {
	ops := make([]op, 0, len(l.ops)+len(e.before)+len(e.after))
	for k, o := range l.ops {
		ops = append(ops, e.before[k]...)
		if !e.drop[k] {
			ops = append(ops, o)
		}
		ops = append(ops, e.after[k]...)
	}
	l.ops = ops
}

// skip takes what a section did before it went on off its list: it waited, and the replay waits elsewhere.
func (b *builder) skip(e *edit, s *section, from, to int) {
	ops := b.p.lists[s.list].ops
	for k := from; k < to; k++ {
		switch o := &ops[k]; o.kind {
		case opWait:
			b.dead[o.arg] = true
			e.drop[k] = true
		case opLock, opUnlock, opRun, opAwait:
			e.drop[k] = true
		}
	}
}

// waiting returns an op in place of the wait of a section, if it had one.
func (b *builder) waiting(s *section, kind opKind, object int32) op {
	o := op{kind: kind, arg: object, at: s.at, late: -1}
	ops := b.p.lists[s.list].ops
	o.set = ops[s.lock].set
	if s.wait >= 0 {
		o.late, o.site = ops[s.wait].late, ops[s.wait].site
	}
	return o
}

// newObject returns the number of an object that takes the place of a condition variable.
func (b *builder) newObject(o objectInfo) int32 {
	o.inferred = true
	b.p.objects = append(b.p.objects, o)
	b.levels = append(b.levels, level{full: -1})
	return int32(len(b.p.objects) - 1)
}
