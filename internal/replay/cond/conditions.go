package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Helped returns which tokens goroutines wait for that have no spans and visit no progress points.
func Helped(p *model.Program) []bool {
	helps := make([]bool, p.Tokens)
	for i := range p.Lists {
		if l := &p.Lists[i]; l.Has(model.OpOpen) || l.Has(model.OpVisit) {
			continue
		}
		for k := range p.Lists[i].Ops {
			if o := &p.Lists[i].Ops[k]; o.Kind == model.OpWait {
				helps[o.Arg] = true
			}
		}
	}
	return helps
}

// A condition variable shows which goroutine has waited and which has signalled, but not for what.
// One that comes at another time in the replay may have to wait where it did not, or not where it
// did. So what the condition is must be inferred from the recording: conditions finds, for each
// variable, a rule by which goroutines would have waited just where they did.

// A section is what a goroutine does with the lock of a condition variable, from Lock to Unlock. If
// it waits in between it is the one before the wait and the one behind it.
type section struct {
	list   int32
	first  int // op with which it takes the lock, before it waits
	lock   int // op with which it takes the lock to go on; first where it does not wait
	end    int // op that gives it back
	came   int64
	at     int64 // when it had the lock to go on
	wait   int   // op, -1 for none
	waits  int32 // for this condition variable, -1 for none
	before Anchor
	number int // among those of the same list
}

// A signaling is a signal to a condition variable.
type signaling struct {
	op      int
	section *section
}

// A condition is a condition variable in a recording.
type condition struct {
	p        *model.Program
	dead     []bool // tokens
	helps    []bool // tokens, see Helped
	object   int32
	lock     int32
	passes   []*section // that have waited, or have come from where others have that waited
	signals  []signaling
	others   map[int32][]signaling // of other condition variables, with the same lock
	sections map[int32][]*section  // with its lock, by list
}

// Conditions puts in place of the waits for condition variables what decides anew, as far as a rule
// is known for them.
func Conditions(b *model.Builder) {
	edits := map[int32]*Edit{}
	found := findConditions(b.P)
	var helps []bool
	if len(found) > 0 {
		helps = Helped(b.P)
	}
	for _, c := range found {
		c.dead, c.helps = b.Dead, helps
		for _, other := range found { // which has a rule of its own
			delete(c.others, other.object)
		}
	}
	for _, c := range found {
		i := slices.IndexFunc(rules, func(rule trace.Rule[func(*condition) replacement]) bool {
			b.P.Rec.Rests()
			if !b.P.Rec.Uses(rule.Name) {
				return false
			}
			r := rule.Find(c)
			if r != nil {
				b.P.Rec.Rests()
				r(b, edits)
			}
			return r != nil
		})
		if i < 0 {
			keepOrder(b, c)
		}
	}
	for l, e := range edits {
		b.P.Rec.Rests()
		e.Apply(&b.P.Lists[l])
	}
}

// keepOrder leaves the waits for a condition variable as they were, with a reason that shows how
// much that is worth.
func keepOrder(b *model.Builder, c *condition) {
	reason := uint8(model.WaitSignal)
	if b.P.Rec.Told || doneForAll(c) {
		reason = model.WaitBusy
	}
	for _, s := range c.passes {
		if s.wait >= 0 {
			b.P.Lists[s.list].Ops[s.wait].Reason = reason
		}
	}
}

// leastSections is how many waits for a condition variable it takes to find a rule.
const leastSections = 20

// findConditions returns the condition variables that goroutines wait for, in the order of their
// objects.
func findConditions(p *model.Program) []*condition {
	locks := map[int32]int32{} // by condition variable
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			p.Rec.RestsAt(k)
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpAwait {
				if before := p.Lists[l].LockBefore(k); before >= 0 {
					locks[o.Arg] = p.Lists[l].Ops[before].Arg
				}
			}
		}
	}
	all := map[int32]*condition{}
	for object, lock := range locks {
		all[object] = &condition{p: p, object: object, lock: lock, others: map[int32][]signaling{}, sections: map[int32][]*section{}}
		for l := range p.Lists {
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

// read finds the sections of a list.
func (c *condition) read(p *model.Program, list, lock int32) {
	l := &p.Lists[list]
	var now *section
	var before Anchor
	waited := false
	for k := range l.Ops {
		p.Rec.RestsAt(k)
		o := &l.Ops[k]
		switch {
		case o.Kind == model.OpLock && o.Arg == lock:
			if now != nil && waited {
				now.lock, now.at, waited = k, o.At, false
				continue
			}
			now = &section{list: list, first: k, lock: k, came: o.At, at: o.At, wait: -1, waits: -1, before: before}
		case o.Kind == model.OpUnlock && o.Arg == lock && now != nil:
			now.end = k
			if next := l.Awaits(k); next >= 0 {
				now.waits, waited = l.Ops[next].Arg, true
				if l.Ops[next-1].Kind == model.OpWait {
					now.wait = next - 1
				}
				break
			}
			now.number = len(c.sections[list])
			c.sections[list] = append(c.sections[list], now)
		case o.Kind == model.OpSignal && now != nil:
			if o.Arg == c.object {
				c.signals = append(c.signals, signaling{k, now})
			} else {
				c.others[o.Arg] = append(c.others[o.Arg], signaling{k, now})
			}
		}
		switch o.Kind {
		case model.OpRun, model.OpWake, model.OpSpawn, model.OpSignal, model.OpAwait:
		case model.OpOpen, model.OpClose:
			before = Anchor{Kind: o.Kind, Arg: p.Rec.Spans[o.Arg].Region}
		case model.OpWait, model.OpOut:
			before = Anchor{Kind: o.Kind, Site: o.Site}
		default:
			before = Anchor{Kind: o.Kind, Arg: o.Arg}
		}
	}
}

// choose finds the sections in which the condition is looked at: sections that waited, and others
// before which their goroutines did the same as before these. It reports whether enough of them
// have waited.
func (c *condition) choose() bool {
	from, waited := map[Anchor]bool{}, 0
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

// An Edit is what changes in the ops of a list.
type Edit struct {
	drop   map[int]bool
	before map[int][]model.Op
	After  map[int][]model.Op
}

// EditOf returns the edit of a list, a new one if it has none.
func EditOf(edits map[int32]*Edit, list int32) *Edit {
	e := edits[list]
	if e == nil {
		e = &Edit{map[int]bool{}, map[int][]model.Op{}, map[int][]model.Op{}}
		edits[list] = e
	}
	return e
}

// Apply makes the edit.
func (e *Edit) Apply(l *model.List) {
	ops := make([]model.Op, 0, len(l.Ops)+len(e.before)+len(e.After))
	for k, o := range l.Ops {
		ops = append(ops, e.before[k]...)
		if !e.drop[k] {
			ops = append(ops, o)
		}
		ops = append(ops, e.After[k]...)
	}
	l.Ops = ops
}

// skip takes what a section did before it went on off its list: it waited, and the replay waits
// elsewhere.
func skip(b *model.Builder, e *Edit, s *section, from, to int) {
	ops := b.P.Lists[s.list].Ops
	for k := from; k < to; k++ {
		switch o := &ops[k]; o.Kind {
		case model.OpWait:
			b.Dead[o.Arg] = true
			e.drop[k] = true
		case model.OpLock, model.OpUnlock, model.OpRun, model.OpAwait:
			e.drop[k] = true
		}
	}
}

// waiting returns an op in place of the wait of a section, if it had one.
func waiting(b *model.Builder, s *section, kind model.OpKind, object int32) model.Op {
	o := model.Op{Kind: kind, Arg: object, At: s.at, Late: -1}
	ops := b.P.Lists[s.list].Ops
	o.Set = ops[s.lock].Set
	if s.wait >= 0 {
		o.Late, o.Site = ops[s.wait].Late, ops[s.wait].Site
	}
	return o
}
