package replay

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/internal/mark"
)

// A trace of stock Go has, of the operations on locks and channels, the ones that waited and the ones that let another goroutine go
// on. The others can be inferred: a piece of code that runs between two landmarks, such as the end of a span and the beginning of
// another one, does the same operations each time. Where this, put to the test, agrees with when goroutines waited and when they
// did not, the recording is completed, and replayed as that of a program which writes each operation.

// A completion is a recording with the marks of all operations on the locks and channels whose operations can be inferred.
type completion struct {
	likely *Recording
	// others may be true as well: it is not known how many locks are used at one place.
	others []*Recording
	// several is which part of the window goroutines waited for locks of which it is not known which one it was, at most 1.
	several float64
}

// completed returns nil if there is nothing to be inferred.
func (r *Recording) completed() *completion {
	if r.operated() {
		return r.pooled()
	}
	t := newTraces(r)
	var found []*explanation
	c := &completion{}
	unsure := false
	parts := t.parts()
	r.rests()
	watches := t.watches(parts)
	for _, part := range parts {
		r.rests()
		if ofCondition(t.operation(part)) {
			continue
		}
		x := t.explain(part)
		if x == nil {
			continue
		}
		x.order, x.number = nil, nil // to have less in memory
		found = append(found, x)
		if x.deal != nil {
			c.several += t.waiting(part.meetings)
			unsure = unsure || x.deal.fewest < x.deal.most
		}
	}
	if len(found)+len(watches) == 0 {
		return nil
	}
	c.several = min(1, c.several)
	told := func(locks func(*deal) int32) *Recording {
		x := r.marked(found, watches, locks, nil)
		x.told = true
		return x
	}
	c.likely = told(func(d *deal) int32 { return d.likely })
	if unsure {
		c.others = []*Recording{told(func(d *deal) int32 { return d.fewest }), told(func(d *deal) int32 { return d.most })}
	}
	return c
}

// marked returns the recording with the marks of what was found, in place of some events. Locks is how many there are, of several.
func (r *Recording) marked(found []*explanation, watches []*watch, locks func(*deal) int32, replaced []int32) *Recording {
	var all []inserted
	pools := map[int32]pool{}
	objects := r.objects
	for _, x := range found {
		r.rests()
		if x.deal == nil {
			all = x.marks(all, objects, nil)
			if !x.lock {
				pools[objects] = x.pool
			}
			objects++
			continue
		}
		n := locks(x.deal)
		x.deal.assign(n)
		all = x.marks(all, objects, x.deal.locks(len(x.seen)+len(x.told)))
		objects += n
	}
	for _, w := range watches {
		all = w.marks(all, objects)
		objects += 1 + w.conditions
	}
	r.rests()
	slices.SortStableFunc(all, func(a, b inserted) int {
		return cmp.Or(cmp.Compare(a.before, b.before), cmp.Compare(a.event.at, b.event.at), cmp.Compare(a.rank, b.rank))
	})
	c := *r
	c.objects, c.pools = objects, pools
	c.events = r.merged(all, replaced)
	return &c
}

// An inserted mark is put before an event. Of several at one time, those of lower ranks come first.
type inserted struct {
	before int32
	rank   float64
	event  event
}

// An action is an operation that the recording shows: it waited, or another goroutine went on by it.
type action struct {
	g    int32
	slot int32 // where in the code, and which operation
	// from and to are the events before and behind which it began and was done; to is -1 if it was not.
	from, to int32
	given    int32 // the event by which it was handed what it waited for, -1 if it had to take that when it ran
	waited   bool
	since    bool // it waited already when the window began
	ran      int64
}

// A slot is an operation in the code, at a stack.
type slot struct {
	what  mark.Op
	stack int32
}

// A landmark is the number of what each run of a piece of code leaves in the recording, 0 for none.
type landmark int32

// A step is a landmark or an action of a goroutine.
type step struct {
	mark   landmark
	action int32 // -1 for a landmark
	event  int32
	ran    int64
}

// A stretch is a piece of time in which a goroutine ran: from behind an event to before another one.
type stretch struct {
	from, to int32
	at, ran  int64
}

// A meeting is an operation that waited, and the one that ended that.
type meeting struct {
	handover
	wait, wake int32 // actions
}

// An ending is an action that ended a goroutine's wait from before the window, whose operation the recording does not show.
type ending struct{ action, waiter int32 }

// traces are the goroutines' steps.
type traces struct {
	rec       *Recording
	stacks    []int32 // by site, see newTraces
	runtime   []int8  // by site: whether that is of the runtime
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

func newTraces(r *Recording) *traces {
	n := int(r.count)
	t := &traces{
		rec: r, stacks: r.userStacks(), runtime: make([]int8, len(r.sites)), numbers: map[slot]int32{}, landmarks: map[uint64]landmark{}, couples: map[uint64]int32{},
		steps: make([][]step, n), stretches: make([][]stretch, n), kinds: slices.Repeat([]int32{-1}, n), parents: slices.Repeat([]int32{-1}, n),
	}
	all := make([]visitor, n)
	for g := range all {
		all[g] = visitor{waits: -1, pending: -1}
	}
	for i := range r.events {
		r.restsAt(i)
		t.follow(all, int32(i))
	}
	return t
}

func (t *traces) follow(all []visitor, i int32) {
	e := &t.rec.events[i]
	v := &all[e.g]
	switch e.kind {
	case evExists:
		switch e.arg {
		case stateRunning:
			t.run(v, e, i)
		case stateWaiting:
			v.waits, v.site, v.reason, v.before = i, e.site, e.ref, true
		}
	case evCreate:
		t.kinds[e.g], t.parents[e.g] = e.site, e.by
		t.landmark(v, e.g, evCreate, e.site, i)
		if e.by >= 0 {
			t.landmark(&all[e.by], e.by, evCreate, -1-e.site, i)
		}
	case evStart, evReturn:
		t.run(v, e, i)
		if v.pending >= 0 {
			t.actions[v.pending].to = i
			v.pending = -1
		}
	case evYield, evSyscall:
		t.rest(v, e, i)
	case evWait:
		t.rest(v, e, i)
		v.waits, v.site, v.reason, v.before = i, e.site, e.arg, false
	case evReady:
		if v.waits >= 0 && e.by >= 0 {
			t.meet(all, i)
		}
		if v.waits >= 0 && e.by < 0 && (v.reason == waitTimer || v.reason == waitReceive || v.reason == waitSelect) {
			t.landmark(v, e.g, evReady, t.stacks[v.site], i)
		}
		v.waits = -1
	case evOpen, evClose:
		t.landmark(v, e.g, e.kind, t.rec.spans[e.ref].region, i)
	case evVisit:
		t.landmark(v, e.g, evVisit, e.ref, i)
	case evEnd:
		t.landmark(v, e.g, evEnd, 0, i)
		t.rest(v, e, i)
	}
}

func (t *traces) run(v *visitor, e *event, i int32) {
	v.running, v.since = true, e.at
	t.stretches[e.g] = append(t.stretches[e.g], stretch{from: i, to: int32(len(t.rec.events)), at: e.at, ran: v.ran})
}

func (t *traces) rest(v *visitor, e *event, i int32) {
	if !v.running {
		return
	}
	v.ran += e.at - v.since
	v.running = false
	s := t.stretches[e.g]
	s[len(s)-1].to = i
}

// clock is how long a goroutine has run.
func (v *visitor) clock(at int64) int64 {
	if v.running {
		return v.ran + at - v.since
	}
	return v.ran
}

func (t *traces) landmark(v *visitor, g int32, kind eventKind, ref, i int32) {
	key := uint64(kind)<<32 | uint64(uint32(ref))
	m, ok := t.landmarks[key]
	if !ok {
		m = landmark(len(t.landmarks) + 1)
		t.landmarks[key] = m
	}
	t.steps[g] = append(t.steps[g], step{mark: m, action: -1, event: i, ran: v.clock(t.rec.events[i].at)})
}

// meet notes a wait that another goroutine has ended, and the operations on both sides.
func (t *traces) meet(all []visitor, i int32) {
	e := &t.rec.events[i]
	v := &all[e.g]
	wait, wake, ok := t.operations(v, e.site)
	if !ok {
		return
	}
	a := int32(-1)
	if wait != 0 {
		a = t.waited(v, e.g, wait)
	}
	b := t.ended(&all[e.by], i, wake, v.waits)
	if a < 0 {
		t.ends = append(t.ends, ending{b, e.g})
		return
	}
	t.actions[a].given = -1
	if wait == mark.ReadLock || wake == mark.ReadUnlock {
		t.actions[a].given = i
	}
	from := t.rec.events[v.waits].at
	t.meetings = append(t.meetings, meeting{handover{waiter: place{e.g, 0}, waker: place{e.by, 0}, from: from, at: e.at, taken: wait == mark.Send}, a, b})
}

// ended returns the action by which a goroutine has ended a wait that began with an event. A writer lets all readers go on that wait.
func (t *traces) ended(v *visitor, i int32, what mark.Op, began int32) int32 {
	e := &t.rec.events[i]
	of, ran, steps := t.slot(what, e.site), v.clock(e.at), t.steps[e.by]
	if n := len(steps); n > 0 && (what == mark.WriteUnlock || what == mark.Broadcast) && steps[n-1].action >= 0 {
		if a := &t.actions[steps[n-1].action]; !a.waited && a.slot == of && (began < a.from || ran-a.ran < shortSyscall) {
			a.ran = ran
			return steps[n-1].action
		}
	}
	b := int32(len(t.actions))
	t.actions = append(t.actions, action{g: e.by, slot: of, from: i, to: i, given: -1, ran: ran})
	t.steps[e.by] = append(steps, step{action: b, event: i, ran: ran})
	return b
}

// waited returns the action that a goroutine has waited in: it may try again for a lock that another one was faster to take, and
// a writer waits for the readers when no other one does.
func (t *traces) waited(v *visitor, g int32, what mark.Op) int32 {
	of := t.slot(what, v.site)
	steps := t.steps[g]
	if n := len(steps); n > 0 && isLock(what) && steps[n-1].action >= 0 {
		if a := &t.actions[steps[n-1].action]; a.waited && a.slot == of && v.ran-a.ran < near {
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

// operations returns which operations a wait and what ended it were; wait is 0 if that began before the window.
func (t *traces) operations(v *visitor, by int32) (wait, wake mark.Op, ok bool) {
	if t.ofRuntime(v.site) || t.ofRuntime(by) {
		return 0, 0, false
	}
	if v.before && v.site == 0 {
		switch t.rec.direction(by) {
		case opSend:
			return 0, mark.Send, true
		case opReceive:
			return 0, mark.Receive, true
		}
		wake = t.rec.sites[by].operation()
		return 0, wake, wake != 0 && !acquires(wake)
	}
	switch v.reason {
	case waitMutex, waitOther:
		wait, wake = t.rec.sites[v.site].operation(), t.rec.sites[by].operation()
		return wait, wake, releases(wake, wait)
	case waitSend:
		return mark.Send, mark.Receive, t.rec.direction(by) == opReceive
	case waitReceive:
		return mark.Receive, mark.Send, t.rec.direction(by) == opSend
	case waitSelect: // such as for a connection of a pool, or a context's end
		return mark.Receive, mark.Send, t.rec.direction(by) == opSend
	}
	return 0, 0, false
}

func (t *traces) ofRuntime(site int32) bool {
	if t.runtime[site] == 0 {
		t.runtime[site] = -1
		if classify(t.rec.sites[site])[ofRuntime] {
			t.runtime[site] = 1
		}
	}
	return t.runtime[site] > 0
}

func (t *traces) slot(what mark.Op, site int32) int32 {
	s := slot{what, t.stacks[site]}
	n, ok := t.numbers[s]
	if !ok {
		n = int32(len(t.slots))
		t.slots = append(t.slots, s)
		t.numbers[s] = n
	}
	return n
}

// userStacks numbers the sites: sites that differ only in the frames of the runtime and of package sync at the innermost
// end have the same number.
func (r *Recording) userStacks() []int32 {
	return numbered(r.sites, func(s Site) (string, bool) {
		frames := s.Frames
		for len(frames) > 0 && isInner(frames[0].Func) {
			frames = frames[1:]
		}
		return stackKey(frames), true
	})
}

// numbered gives sites numbers, the same to those of one key: the index of the first. A site without a key has its own.
func numbered[K comparable](sites []Site, key func(Site) (K, bool)) []int32 {
	of := make([]int32, len(sites))
	numbers := map[K]int32{}
	for i, s := range sites {
		of[i] = int32(i)
		k, ok := key(s)
		if !ok {
			continue
		}
		if n, ok := numbers[k]; ok {
			of[i] = n
		} else {
			numbers[k] = of[i]
		}
	}
	return of
}

func isInner(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.")
}

func stackKey(frames []Frame) string {
	var key strings.Builder
	for _, f := range frames {
		key.WriteString(f.Func)
		key.WriteByte(':')
		key.WriteString(strconv.Itoa(f.Line))
		key.WriteByte('\n')
	}
	return key.String()
}
