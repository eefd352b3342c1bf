package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Condition variables. A recording has which goroutine waited for a sync.Cond and which one
// signalled, but not the condition, the ok of
//
//	mu.Lock()
//	for !ok() { cond.Wait() }
//	...
//	mu.Unlock()
//
// A goroutine that comes at another time in the replay may have to wait where it did not, or not
// where it did. So the condition must be inferred: for each variable Conditions looks for a rule by
// which goroutines would have waited just where they did.
//
// That is possible since the condition is read and changed with the lock only (the contract of
// sync.Cond): it is a function of what goroutines did with the lock, in the order in which they had
// it, and that order is recorded.
//
//	a section       |--looks--|~~~~~~ waits ~~~~~~|--goes on--|
//	ops             first     wait                lock        end
//	times           came                          at
//
// Sources: sync/cond.go (Wait gives the lock back, parks, and takes the lock again) and
// runtime/sema.go (notifyListNotifyOne ends the wait with the lowest ticket; one without a waiting
// goroutine leaves nothing). A signal that ends no wait is lost for sync.Cond, not for the
// condition: the rules count signals, whether or not they end a wait.
//
// When it is wrong: conditions that time or atomic variables change fit no rule. Their waits stay
// in the recorded order (keepOrder), and programs without them bound the answer. Variables whose
// lock is a sync.RWMutex are not looked at, nor are variables with fewer than leastSections waits.
// A rule that fits by chance lets other goroutines wait than really do; the replay of nothing
// changed then misses the recording.
//
// TestUnseenConditions and TestUnseenConditionsLimit hold a queue in a stock trace. The workloads
// of integration/accuracy have one program for each rule: bounded, pubsub, barrier, Fasta.

// A section is what a goroutine does with the lock of a condition variable, from Lock to Unlock (a
// critical section). If it waits in between it is one section: the part before the wait, in which
// it looks at the condition, and the part behind it, in which it goes on. Where it waits several
// times before the condition is met, that is one wait, too. Ops are indices of its list, times are
// of the recording's clock, ns.
type section struct {
	list   int32
	first  int    // op with which it takes the lock, before it waits
	lock   int    // op with which it takes the lock to go on; first where it does not wait
	end    int    // op that gives it back
	came   int64  // when it had the lock to look
	at     int64  // when it had the lock to go on
	wait   int    // op, -1 for none
	waits  int32  // for this condition variable, -1 for none
	before Anchor // what its goroutine did last before it, computing and wake-ups apart
	number int    // among those of the same list, from 0; 0 also while it is not over
}

// A signaling is a Signal or a Broadcast to a condition variable. Recordings have both as one op:
// how many goroutines one lets go on is what the rules differ in. The section is the one around it,
// or the last one before it where it comes behind Unlock, as sync.Cond allows; it counts as done
// when that section had its lock.
type signaling struct {
	op      int
	section *section
}

// A condition is a condition variable in a recording. Passes and signals are what rules explain;
// both are in order of time.
type condition struct {
	p        *model.Program
	object   int32
	lock     int32      // its L
	passes   []*section // that have waited, or have come from where others have that waited
	signals  []signaling
	others   map[int32][]signaling // of other condition variables, with the same lock
	sections map[int32][]*section  // with its lock, by list
}

// Conditions puts in place of the waits for condition variables what decides anew, as far as a rule
// is known for them. It changes the lists of b.P and marks tokens as dead that are not waited for
// any more. It reads the lists that take a variable's lock once for each variable.
func Conditions(b *model.Builder) {
	// Rules only note what changes: the sections hold indices of the lists as they were read.
	edits := Edits{}
	found := findConditions(b.P)
	for _, c := range found {
		// Left in others are variables with the same lock for which hardly any goroutine has
		// waited: the other side of a queue, see countBack.
		for _, other := range found { // which has a rule of its own
			delete(c.others, other.object)
		}
	}
	for _, c := range found {
		// The first rule that fits is taken, in the order of rules: from the least that a condition
		// can be to what takes the most for granted.
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
	edits.Apply(b.P)
}

// keepOrder leaves the waits for a condition variable as they were, with a reason that shows how
// much that is worth. WaitSignal counts as unknown. WaitBusy does not: what is done once for all is
// the work of one goroutine, whichever that is, and in a stock trace (Rec.Told) the order of such
// waits is bounded with that of all others.
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

// leastSections is how many waits for a condition variable it takes to find a rule. It is the
// lowest number of which 95 % leaves room for one that disagrees; with less evidence the four rules
// and the 200 counts that are tried would often have one that fits by chance.
const leastSections = 20

// findConditions returns the condition variables that goroutines wait for, in the order of their
// objects: answers must not depend on the order of maps.
func findConditions(p *model.Program) []*condition {
	// sync.Cond.Wait gives its lock back first: the Unlock right before a wait is of the variable's
	// L.
	locks := map[int32]int32{} // by condition variable
	for at, o := range p.All() {
		if o.Kind == model.OpAwait {
			l := &p.Lists[at.List]
			if before := l.LockBefore(int(at.Op)); before >= 0 {
				locks[o.Arg] = l.Ops[before].Arg
			}
		}
	}
	users := usersOf(p, locks)
	all := map[int32]*condition{}
	for object, lock := range locks {
		all[object] = &condition{p: p, object: object, lock: lock, others: map[int32][]signaling{}, sections: map[int32][]*section{}}
		for _, l := range users[lock] {
			all[object].read(p, l, lock)
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

// usersOf returns the lists that lock each of some locks, in order: net/http has a condition
// variable for each connection, and reading all lists for each would be quadratic.
func usersOf(p *model.Program, locks map[int32]int32) map[int32][]int32 {
	users := map[int32][]int32{}
	for _, lock := range locks {
		users[lock] = nil
	}
	for at, o := range p.All() {
		if o.Kind != model.OpLock {
			continue
		}
		if of, wanted := users[o.Arg]; wanted && (len(of) == 0 || of[len(of)-1] != at.List) {
			users[o.Arg] = append(of, at.List)
		}
	}
	return users
}

// read finds the sections of a list, in order. The last one is left out if the window ends within
// it.
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
			// The second Lock is the one within Wait: the section goes on.
			if now != nil && waited {
				now.lock, now.at, waited = k, o.At, false
				continue
			}
			now = &section{list: list, first: k, lock: k, came: o.At, at: o.At, wait: -1, waits: -1, before: before}
		// An Unlock that a wait follows is the one within Wait, any other ends the section. Now
		// stays: a Signal behind Unlock is of this section.
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
		// Goroutines of several kinds use one variable, and what they did before distinguishes the
		// kinds.
		switch o.Kind {
		case model.OpRun, model.OpWake, model.OpSpawn, model.OpSignal, model.OpAwait:
		default:
			before = WithinAny(p, o)
		}
	}
}

// choose finds the sections in which the condition is looked at. The lock is taken for other
// things, too; a section that did not wait looks at the condition if its goroutine came from where
// others came from that waited. It reports whether enough of them have waited.
//
// For example, producers come to the lock of a queue from the end of span "produce", consumers from
// the end of "consume". Of the consumers half had to wait for notEmpty. Then all sections that
// follow "consume" are passes of notEmpty, and the producers' are not.
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

// An Edit is what changes in the ops of a list. Keys are indices of the list before the edit, so
// that several rules can add to one edit in any order; Apply makes all changes at once.
type Edit struct {
	drop   map[int]bool       // ops that go; what is before and after them stays
	before map[int][]model.Op // in the order in which they are done
	After  map[int][]model.Op // likewise, behind an op
}

// Edits are those of several lists, by list.
type Edits map[int32]*Edit

// Of returns the edit of a list, a new one if it has none.
func (edits Edits) Of(list int32) *Edit {
	e := edits[list]
	if e == nil {
		e = &Edit{map[int]bool{}, map[int][]model.Op{}, map[int][]model.Op{}}
		edits[list] = e
	}
	return e
}

// Apply makes all edits, once. Their order does not matter: each is of another list.
func (edits Edits) Apply(p *model.Program) {
	for l, e := range edits {
		p.Rec.Rests()
		e.Apply(&p.Lists[l])
	}
}

// Apply makes the edit, once: then its indices are not those of the list any more. It copies the
// list, and does not correct From, To and Rounds, which are found later.
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

// skip takes the ops of a section in [from, to) off its list: the goroutine had the lock, gave it
// back and waited, and in the replay waits elsewhere. What ended the wait is dead. Other locks that
// it takes or gives back in between stay, as in a hand over hand; spans, progress points and
// signals do, too.
func skip(b *model.Builder, e *Edit, s *section, from, to int) {
	ops := b.P.Lists[s.list].Ops
	for k := from; k < to; k++ {
		switch o := &ops[k]; o.Kind {
		case model.OpWait:
			b.Dead[o.Arg] = true
			e.drop[k] = true
		case model.OpLock, model.OpUnlock:
			e.drop[k] = e.drop[k] || o.Arg == ops[s.lock].Arg
		case model.OpRun, model.OpAwait:
			e.drop[k] = true
		}
	}
}

// instead has a goroutine wait by an op on an object where it looked and waited in a section,
// before it takes the lock to go on. It returns the list's edit.
func (edits Edits) instead(b *model.Builder, s *section, kind model.OpKind, object int32) *Edit {
	e := edits.Of(s.list)
	skip(b, e, s, s.first, s.lock)
	e.before[s.lock] = append(e.before[s.lock], waiting(b, s, kind, object))
	return e
}

// waiting returns an op in place of the wait of a section, if it had one: with its lag behind the
// wake-up and its site. Without a wait the lag is not known (-1), and the replay takes the usual
// one.
func waiting(b *model.Builder, s *section, kind model.OpKind, object int32) model.Op {
	o := model.Op{Kind: kind, Arg: object, At: s.at, Late: -1}
	ops := b.P.Lists[s.list].Ops
	o.Set = ops[s.lock].Set
	if s.wait >= 0 {
		o.Late, o.Site = ops[s.wait].Late, ops[s.wait].Site
	}
	return o
}
