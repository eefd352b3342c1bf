package hidden

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A trace of stock Go has, of the operations on locks and channels, the ones that waited and the
// ones that let another goroutine go on. The others can be inferred: a piece of code that runs
// between two landmarks, such as the end of a span and the beginning of another one, does the same
// operations each time. Where this, put to the test, agrees with when goroutines waited and when
// they did not, the recording is completed, and replayed as that of a program which writes each
// operation.
//
// This file reads the steps of each goroutine, landmarks and seen operations, and puts the result
// together. What it does not see: waits in a select statement to send, sends by a select statement
// (its stack has no direction, see model.Direction), and TryLock. Where an object has such
// operations beside others the check contradicts; one that has no others is not found at all.
// Either way the recorded waits stay.

// A Completion is a recording with the marks of all operations on the locks and channels whose
// operations can be inferred. Recordings share what is not changed with the one that was read.
type Completion struct {
	Likely *trace.Recording
	// Others may be true as well: it is not known how many locks are used at one place.
	Others []*trace.Recording
	// Several is which part of the window goroutines waited for locks of which it is not known
	// which one it was, at most 1.
	Several float64

	of      *trace.Recording
	found   []*explanation
	watches []*watch
}

// The rules by which operations are found.
const (
	rulePoolWaiters = "pool_waiters"
	ruleConditions  = "hidden_conditions"
	ruleSharding    = "lock_sharding"
)

// Rules returns the names of this package's rules.
func Rules() []trace.RuleName {
	return []trace.RuleName{
		{Name: rulePoolWaiters, Doc: "waiters with a channel each are of one pool"},
		{Name: ruleConditions, Doc: "condition variables of a stock trace are those whose signals ended waits"},
		{Name: ruleSharding, Doc: "at one place in the code several locks may be used"},
	}
}

// Completed completes a recording, or returns nil if there is nothing to be inferred. In a
// recording with marks of operations only pools of waiters are inferred, see waiters.go. It takes
// about the number of events times that of combinations that are tried, at most mostTried for each
// part.
func Completed(r *trace.Recording) *Completion {
	if r.Operated() {
		if !r.Uses(rulePoolWaiters) {
			return nil
		}
		return pooled(r)
	}
	// Condition variables first, all together, as some have one lock; then each lock and channel by
	// itself. Of several locks at one place it is not certain which one an operation is on.
	t := NewTraces(r)
	var found []*explanation
	parts := t.Parts()
	r.Rests()
	var watches []*watch
	if r.Uses(ruleConditions) {
		watches = t.watches(parts)
	}
	for _, part := range parts {
		r.Rests()
		if ofCondition(t.operation(part)) {
			continue
		}
		x := t.explain(part)
		if x == nil || x.deal != nil && !r.Uses(ruleSharding) {
			continue
		}
		x.order, x.number = nil, nil // to have less in memory
		found = append(found, x)
	}
	return completion(r, found, watches)
}

// completion puts together what was found, nil for nothing. Fewer locks mean more contention, more
// mean less: the least and the most bound the answer.
func completion(r *trace.Recording, found []*explanation, watches []*watch) *Completion {
	if len(found)+len(watches) == 0 {
		return nil
	}
	c := &Completion{of: r, found: found, watches: watches}
	unsure := false
	for _, x := range found {
		if x.deal != nil {
			c.Several += x.t.waiting(x.meetings)
			unsure = unsure || x.deal.Fewest < x.deal.Most
		}
	}
	c.Several = min(1, c.Several)
	told := func(locks func(*Deal) int32) *trace.Recording {
		x := marked(r, found, watches, locks, nil)
		x.Told = true
		return x
	}
	c.Likely = told(func(d *Deal) int32 { return d.Likely })
	if unsure {
		c.Others = []*trace.Recording{told(func(d *Deal) int32 { return d.Fewest }), told(func(d *Deal) int32 { return d.Most })}
	}
	return c
}

// Parts is how many locks and channels the operations were inferred of, 0 once they are dropped.
func (c *Completion) Parts() int { return len(c.found) }

// Without returns the completion but for part k, from 0, which keeps its recorded waits; nil for
// nothing left.
func (c *Completion) Without(k int) *Completion {
	return completion(c.of, slices.Delete(slices.Clone(c.found), k, k+1), c.watches)
}

// Drop forgets the parts, which take more memory than the recordings.
func (c *Completion) Drop() { c.found, c.watches = nil, nil }

// marked returns the recording with the marks of what was found, in place of some events, replaced,
// ascending. Locks is how many there are, of several; it may be nil where none has a deal. New
// objects get numbers behind the recorded ones: one for each lock or channel, n for n locks, and a
// lock and its variables for each watch.
func marked(r *trace.Recording, found []*explanation, watches []*watch, locks func(*Deal) int32, replaced []int32) *trace.Recording {
	var all []inserted
	pools := map[int32]trace.Pool{}
	objects := r.Objects
	for _, x := range found {
		r.Rests()
		if x.deal == nil {
			all = x.marks(all, objects, nil)
			if !x.lock {
				pools[objects] = x.Pool
			}
			objects++
			continue
		}
		n := locks(x.deal)
		x.deal.Assign(n)
		all = x.marks(all, objects, x.deal.locks(len(x.seen)+len(x.told)))
		objects += n
	}
	for _, w := range watches {
		all = w.marks(all, objects)
		objects += 1 + w.conditions
	}
	r.Rests()
	slices.SortStableFunc(all, func(a, b inserted) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.event.At, b.event.At), cmp.Compare(a.rank, b.rank))
	})
	c := *r
	c.Objects, c.Pools = objects, pools
	c.Events = merged(r, all, replaced)
	return &c
}

// An inserted mark is put before an event. Of several at one time, those of lower ranks come first.
type inserted struct {
	before int32
	rank   float64
	event  trace.Event
}

// An action is an operation that the recording shows: it waited, or another goroutine went on by
// it. A broadcast that lets several go on is one action, and a lock that was tried for again, too.
type action struct {
	g    int32
	slot int32 // where in the code, and which operation
	// from and to are the events before and behind which it began and was done; to is -1 if it was
	// not.
	from, to int32
	// given is the event by which it was handed what it waited for, -1 if it had to take that when
	// it ran.
	given  int32
	waited bool
	since  bool  // it waited already when the window began
	ran    int64 // for how long its goroutine had run, ns; of a broadcast, at the last wake-up
}

// A slot is an operation in the code, at a stack: all of it, since a helper that locks does so for
// its callers.
type slot struct {
	what  mark.Op
	stack int32 // number of a site, see userStacks
}

// A landmark is the number of what each run of a piece of code leaves in the recording, 0 for none:
// a span of a region that begins or ends, a visit, a goroutine that begins, ends or starts one at a
// place, and the end of a wait for a timer, be it a sleep or a timer's channel. Waits for the
// network are none: the same read waits or does not by what has come. Nor are waits for goroutines,
// which are what is asked about.
type landmark int32

// A step is a landmark or an action of a goroutine.
type step struct {
	mark   landmark
	action int32 // -1 for a landmark
	event  int32
	ran    int64 // for how long the goroutine had run, ns
}

// A stretch is a piece of time in which a goroutine ran: from behind an event to before another
// one.
type stretch struct {
	from, to int32 // to is how many events there are if it ran until the end
	at, ran  int64 // the time at its beginning, and for how long it had run by then, ns
}

// A meeting is an operation that waited, and the one that ended that. Both are on one object, which
// the wake-up proves; which object that is must be inferred.
type meeting struct {
	model.Handover
	wait, wake int32 // actions
}

// An ending is an action that ended a goroutine's wait from before the window, whose operation the
// recording does not show.
type ending struct{ action, waiter int32 }

// Traces are the goroutines' steps. Steps, stretches, meetings and ends are in order of time.
type Traces struct {
	rec       *trace.Recording
	stacks    []int32 // by site, see NewTraces
	runtime   []bool  // by site: it is the runtime's own work, such as an assist of the collector
	closers   []bool  // by site: a channel is closed there
	slots     []slot
	numbers   map[slot]int32
	landmarks map[uint64]landmark
	couples   map[uint64]int32 // numbers of two landmarks, one behind the other
	actions   []action
	meetings  []meeting
	ends      []ending
	steps     [][]step
	stretches [][]stretch
	kinds     []int32 // by goroutine: where it was created, -1 if it has been there for long
	parents   []int32 // by goroutine: the one that created it, -1 if it has been there for long
}

// A visitor follows one goroutine through the events.
type visitor struct {
	running bool
	since   int64 // when it began to run
	ran     int64
	waits   int32 // event, -1 if it does not wait
	site    int32
	reason  int32
	pending int32 // action that is done when it runs again, -1
	before  bool  // the wait began before the window
}

// NewTraces returns what each goroutine did between its landmarks. It goes through the events once.
func NewTraces(r *trace.Recording) *Traces {
	n := int(r.Count)
	t := &Traces{
		rec: r, stacks: userStacks(r), numbers: map[slot]int32{}, landmarks: map[uint64]landmark{}, couples: map[uint64]int32{},
		runtime: trace.BySite(r.Sites, func(s trace.Site) bool { return trace.Classify(s)[trace.OfRuntime] }),
		closers: trace.BySite(r.Sites, trace.Site.Closes),
		steps:   make([][]step, n), stretches: make([][]stretch, n), kinds: slices.Repeat([]int32{-1}, n), parents: slices.Repeat([]int32{-1}, n),
	}
	all := slices.Repeat([]visitor{{waits: -1, pending: -1}}, n)
	for i := range r.Events {
		r.RestsAt(i)
		t.follow(all, int32(i))
	}
	return t
}

// follow takes event i. Order matters where one event ends a wait: the meeting needs what the
// visitor has from when the wait began.
func (t *Traces) follow(all []visitor, i int32) {
	e := &t.rec.Events[i]
	v := &all[e.G]
	switch e.Kind {
	case trace.EvExists:
		switch e.Arg {
		case trace.StateRunning:
			t.run(v, e, i)
		case trace.StateWaiting:
			v.waits, v.site, v.reason, v.before = i, e.Site, e.Ref, true
		}
	case trace.EvCreate:
		t.kinds[e.G], t.parents[e.G] = e.Site, e.By
		t.landmark(v, e.G, trace.EvCreate, e.Site, i)
		if e.By >= 0 {
			t.landmark(&all[e.By], e.By, trace.EvCreate, -1-e.Site, i)
		}
	// What it waited for is done when it runs again.
	case trace.EvStart, trace.EvReturn:
		t.run(v, e, i)
		if v.pending >= 0 {
			t.actions[v.pending].to = i
			v.pending = -1
		}
	case trace.EvYield, trace.EvSyscall:
		t.rest(v, e, i)
	case trace.EvWait:
		t.rest(v, e, i)
		v.waits, v.site, v.reason, v.before = i, e.Site, e.Arg, false
	case trace.EvReady:
		// Woken by a goroutine it met one; by nothing in the program, a timer was due. The network
		// and the rest of the runtime leave no step.
		if v.waits >= 0 && e.By >= 0 {
			t.meet(all, i)
		}
		if v.waits >= 0 && e.By < 0 && (v.reason == trace.WaitTimer || v.reason == trace.WaitReceive || v.reason == trace.WaitSelect) {
			t.landmark(v, e.G, trace.EvReady, t.stacks[v.site], i)
		}
		v.waits = -1
	case trace.EvOpen, trace.EvClose:
		t.landmark(v, e.G, e.Kind, t.rec.Spans[e.Ref].Region, i)
	case trace.EvVisit:
		t.landmark(v, e.G, trace.EvVisit, e.Ref, i)
	case trace.EvEnd:
		t.landmark(v, e.G, trace.EvEnd, 0, i)
		t.rest(v, e, i)
	}
}

func (t *Traces) run(v *visitor, e *trace.Event, i int32) {
	v.running, v.since = true, e.At
	t.stretches[e.G] = append(t.stretches[e.G], stretch{from: i, to: int32(len(t.rec.Events)), at: e.At, ran: v.ran})
}

func (t *Traces) rest(v *visitor, e *trace.Event, i int32) {
	if !v.running {
		return
	}
	v.ran += e.At - v.since
	v.running = false
	s := t.stretches[e.G]
	s[len(s)-1].to = i
}

// clock is how long a goroutine has run.
func (v *visitor) clock(at int64) int64 {
	if v.running {
		return v.ran + at - v.since
	}
	return v.ran
}

// landmark adds a step. Kind and ref make the landmark; where a goroutine starts another one both
// have one, for which the creator's ref is below 0.
func (t *Traces) landmark(v *visitor, g int32, kind trace.EventKind, ref, i int32) {
	key := uint64(kind)<<32 | uint64(uint32(ref))
	m, ok := t.landmarks[key]
	if !ok {
		m = landmark(len(t.landmarks) + 1)
		t.landmarks[key] = m
	}
	t.steps[g] = append(t.steps[g], step{mark: m, action: -1, event: i, ran: v.clock(t.rec.Events[i].At)})
}

// meet notes a wait that another goroutine has ended, and the operations on both sides.
func (t *Traces) meet(all []visitor, i int32) {
	e := &t.rec.Events[i]
	v := &all[e.G]
	wait, wake, ok := t.operations(v, e.Site)
	if !ok {
		return
	}
	// The end of a wait whose beginning is not known is one side only.
	a := int32(-1)
	if wait != 0 {
		a = t.waited(v, e.G, wait)
	}
	b := t.ended(&all[e.By], i, wake, v.waits)
	if a < 0 {
		t.ends = append(t.ends, ending{b, e.G})
		return
	}
	// A reader has the lock from the writer's Unlock on, a writer from the last reader's RUnlock on
	// (readerWait in sync/rwmutex.go). A goroutine that a Mutex wakes has yet to take it.
	t.actions[a].given = -1
	if wait == mark.ReadLock || wake == mark.ReadUnlock {
		t.actions[a].given = i
	}
	from := t.rec.Events[v.waits].At
	t.meetings = append(t.meetings, meeting{model.Handover{Waiter: model.Place{List: e.G, Op: 0}, Waker: model.Place{List: e.By, Op: 0}, From: from, At: e.At, Taken: wait == mark.Send}, a, b})
}

// ended returns the action by which a goroutine has ended a wait that began with an event. A writer
// lets all readers go on that wait, and Broadcast all waiters: a wake-up is of the same action if
// its wait is older than that, or hardly any time was computed since the last one.
func (t *Traces) ended(v *visitor, i int32, what mark.Op, began int32) int32 {
	e := &t.rec.Events[i]
	of, ran, steps := t.slot(what, e.Site), v.clock(e.At), t.steps[e.By]
	if n := len(steps); n > 0 && (what == mark.WriteUnlock || what == mark.Broadcast) && steps[n-1].action >= 0 {
		if a := &t.actions[steps[n-1].action]; !a.waited && a.slot == of && (began < a.from || ran-a.ran < model.ShortSyscall) {
			a.ran = ran
			return steps[n-1].action
		}
	}
	b := int32(len(t.actions))
	t.actions = append(t.actions, action{g: e.By, slot: of, from: i, to: i, given: -1, ran: ran})
	t.steps[e.By] = append(steps, step{action: b, event: i, ran: ran})
	return b
}

// waited returns the action that a goroutine has waited in: it may try again for a lock that
// another one was faster to take (barging), and a writer waits for the readers when no other one
// does. It is the same one if nothing was seen in between and less than model.Near was computed. A
// goroutine that takes a lock, gives it back and waits for it again within that looks alike.
func (t *Traces) waited(v *visitor, g int32, what mark.Op) int32 {
	of := t.slot(what, v.site)
	steps := t.steps[g]
	if n := len(steps); n > 0 && isLock(what) && steps[n-1].action >= 0 {
		if a := &t.actions[steps[n-1].action]; a.waited && a.slot == of && v.ran-a.ran < model.Near {
			v.pending = steps[n-1].action
			return v.pending
		}
	}
	a := int32(len(t.actions))
	t.actions = append(t.actions, action{g: g, slot: of, from: v.waits, to: -1, given: -1, waited: true, since: v.before, ran: v.ran})
	t.steps[g] = append(t.steps[g], step{action: a, event: v.waits, ran: v.ran})
	v.pending = a
	return a
}

// operations returns which operations a wait and what ended it were; wait is 0 if that began before
// the window. It is not ok if the two do not belong together, such as a wait for a lock that the
// garbage collector ended, or if a close ended it. By is the site of what ended it.
func (t *Traces) operations(v *visitor, by int32) (wait, wake mark.Op, ok bool) {
	if t.runtime[v.site] || t.runtime[by] {
		return 0, 0, false
	}
	did := model.Direction(t.rec.Sites[by])
	// Of a wait from before the trace the stack is not known: what ended it shows what it was, and
	// that must be an operation which ends waits.
	if v.before && v.site == 0 {
		switch did {
		case model.OpSend:
			return 0, mark.Send, true
		case model.OpReceive:
			return 0, mark.Receive, true
		}
		wake = t.rec.Sites[by].Operation()
		return 0, wake, wake != 0 && !trace.Acquires(wake)
	}
	// Locks and condition variables by their methods on the stack, channels by the runtime's reason
	// for the wait. Both sides must fit each other.
	switch v.reason {
	case trace.WaitMutex, trace.WaitOther:
		wait, wake = t.rec.Sites[v.site].Operation(), t.rec.Sites[by].Operation()
		return wait, wake, releases(wake, wait)
	case trace.WaitSend:
		return mark.Send, mark.Receive, did == model.OpReceive
	// The second such as for a connection of a pool, or a context's end. Who closes a channel for
	// one waiter gives it something, as to send would.
	case trace.WaitReceive, trace.WaitSelect:
		return mark.Receive, mark.Send, did == model.OpSend || t.closers[by]
	}
	return 0, 0, false
}

func (t *Traces) slot(what mark.Op, site int32) int32 {
	return trace.Intern(t.numbers, &t.slots, slot{what, t.stacks[site]})
}

// userStacks numbers the sites: sites that differ only in the frames of the runtime and of package
// sync at the innermost end have the same number.
func userStacks(r *trace.Recording) []int32 {
	return trace.Numbered(r.Sites, func(s trace.Site) (string, bool) {
		frames := s.Frames
		for len(frames) > 0 && trace.IsInner(frames[0].Func) {
			frames = frames[1:]
		}
		return trace.StackKey(frames), true
	})
}
