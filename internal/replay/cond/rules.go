package cond

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Rules by which goroutines wait for condition variables. Each goes through the recorded moments in
// order, keeps the state that the condition would have, and predicts for each section whether it
// has to wait. It is taken if that is where goroutines did wait, in 95 % of each kind of case. A
// rule with parameters (the number at first, the size of a barrier) takes them from the recording.

// A replacement puts what decides anew in place of a condition variable: it adds to the edits, by
// list.
type replacement func(b *model.Builder, edits Edits)

// The first that fits is taken. Rules overlap: a queue with one consumer that never falls behind is
// also "the latest news". They differ in a replay in which it does fall behind.
var rules = []trace.Rule[func(*condition) replacement]{
	{Name: "cond_count", Doc: "goroutines wait until a count is reached", Find: counts},
	{Name: "cond_latest", Doc: "goroutines wait for what came last", Find: latest},
	{Name: "cond_barrier", Doc: "goroutines wait until all have come", Find: meets},
	{Name: "cond_tickets", Doc: "goroutines go on in the order of tickets", Find: sequence},
}

// Rules of waits for several others.
const (
	ruleBatches   = "batches"
	ruleAfterFunc = "afterfunc"
	ruleQuorum    = "quorum"
)

// Rules returns the names of this package's rules.
func Rules() []trace.RuleName {
	return append(trace.Named(rules),
		trace.RuleName{Name: ruleBatches, Doc: "a goroutine takes whatever has come, works on it and answers all"},
		trace.RuleName{Name: ruleAfterFunc, Doc: "the first who waits for a timer's call has set that timer"},
		trace.RuleName{Name: ruleQuorum, Doc: "a goroutine goes on once all but as many as always have answered"})
}

// A Fit counts where a rule is right: of sections that waited, sections that did not, and sections
// that waited at the moment at which they went on. The three are counted apart, since a rule by
// which goroutines always wait would be right about most where nearly all do.
type Fit struct{ Right, all [3]int }

// The sections that a rule is held against.
const (
	FitWaited = iota
	FitPassed
	fitWentOn
)

// Note counts a section about which a rule was right, or not. What is FitWaited, FitPassed or
// fitWentOn.
func (f *Fit) Note(what int, right bool) {
	f.all[what]++
	if right {
		f.Right[what]++
	}
}

// cases is how many of all kinds have been noted.
func (f *Fit) cases() (n int) {
	for _, of := range f.all {
		n += of
	}
	return n
}

func (f *Fit) good() bool { return f.Within(model.Agreeing) }

// Within reports whether a rule is right about such a part, of 1, of each kind. A kind without a
// case contradicts nothing: callers that need evidence of it have to count.
func (f *Fit) Within(part float64) bool {
	for i, n := range f.all {
		if float64(f.Right[i]) < part*float64(n) {
			return false
		}
	}
	return true
}

// A moment is something that a rule depends on, in the order in which goroutines had the lock: at
// is ns of the recording's clock.
type moment struct {
	at   int64
	what momentKind
	pass *section
}

type momentKind uint8

const (
	someoneComes  momentKind = iota // and looks at the condition
	someoneGoesOn                   // since the condition is met
	someoneSignals
)

// moments returns what happens with the lock, in order. A section without a wait comes and goes on
// at one time, and may signal then: it looks before it goes on, and signals last, as the constants
// are ordered. A signal counts when its section went on with the lock; one that is given before the
// wait of its own section comes too late here. It takes n log n each time.
func (c *condition) moments() []moment {
	var all []moment
	for _, s := range c.passes {
		all = append(all, moment{s.came, someoneComes, s}, moment{s.at, someoneGoesOn, s})
	}
	for _, s := range c.signals {
		all = append(all, moment{s.section.at, someoneSignals, s.section})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what)) })
	return all
}

// hold checks a rule at a moment at which someone comes or goes on: met means that the condition is
// met, by the rule.
func (f *Fit) hold(m moment, met bool) {
	switch {
	case m.what == someoneGoesOn:
		f.Note(fitWentOn, met)
	case m.pass.waits >= 0:
		f.Note(FitWaited, !met)
	default:
		f.Note(FitPassed, met)
	}
}

// counts is the rule of queues and semaphores: each signal is for one that goes on, and what is
// left over stays (a semaphore's count). The condition is count > 0.
//
//	signal       +1      +1                  +1
//	goes on                  -1 -1                -1
//	count    0    1       2   1  0            1    0
//	                               |~ waits ~~|
//
// The replay has a channel without limit in its place: a signal sends, and what goes on receives,
// first come first served. That is the order in which sync.Cond ends waits. A goroutine that gets
// the lock before the woken one does (barging) takes in truth what that was woken for, and queues
// behind it here. Where the number is limited the other side waits as well: countBack, countUnseen.
func counts(c *condition) replacement {
	atFirst, ok := counted(c.moments())
	if !ok {
		return nil
	}
	return func(b *model.Builder, edits Edits) {
		c.count(b, edits, atFirst)
		if !c.countBack(b, edits) && b.P.Rec.Told {
			c.countUnseen(b, edits)
		}
	}
}

// count has a number of things be counted, of which there are some at first. The receive comes
// before the lock is taken to go on: while it waits a goroutine has no lock, as with sync.Cond.
func (c *condition) count(b *model.Builder, edits Edits, atFirst int) {
	object := b.NewObject(model.ObjectInfo{Kind: model.ObjectChan, Capacity: math.MaxInt32, Count: int32(atFirst)})
	for _, s := range c.passes {
		edits.instead(b, s, model.OpReceive, object)
	}
	for _, s := range c.signals {
		e := edits.Of(s.section.list)
		e.before[s.op] = append(e.before[s.op], model.Op{Kind: model.OpSend, Arg: object, At: s.section.at, Late: -1})
	}
}

// countBack finds what is counted the other way round: goroutines that go on signal another
// condition variable, for which hardly any goroutine has waited, and signallers of this one would
// have, had they come too early. They are the two sides of a queue, and one of them has been the
// slower one all the time. In a bounded queue whose consumers are slower, producers wait for
// notFull; consumers never waited for notEmpty, and have to once they are fast enough.
//
// It reports whether there are such. How many there were at first, elements or places, is the least
// with which no goroutine would have waited, unless waits show it. The real number may be larger,
// which Limited has bounded as in countUnseen.
func (c *condition) countBack(b *model.Builder, edits Edits) bool {
	passes := map[*section]bool{}
	for _, s := range c.passes {
		passes[s] = true
	}
	found := false
	for _, other := range slices.Sorted(maps.Keys(c.others)) {
		signals := c.others[other]
		together := 0
		for _, s := range signals {
			if passes[s.section] {
				together++
			}
		}
		// Each pass signals once, and hardly anything else does.
		if float64(together) < model.Agreeing*float64(max(len(signals), len(c.passes))) {
			continue
		}
		back := condition{object: other, signals: signals}
		for _, s := range c.signals {
			back.passes = append(back.passes, s.section)
		}
		atFirst, ok := counted(back.moments())
		found = true
		if !ok { // there may have been more
			if b.P.Limited = true; b.P.Rec.Endless {
				continue
			}
			atFirst = back.least()
		}
		back.count(b, edits, atFirst)
	}
	return found
}

// countUnseen counts the other way round where no trace is left of the other condition variable,
// since no goroutine had to wait for it: its signallers would have had to with more signals left
// over than ever were. So the limit is the most that were left over, if there is one at all:
// Limited has the program replayed without a limit, too (Endless), and the two bound the answer.
// TestUnseenConditionsLimit holds that consumers wait with the limit, and do not without.
func (c *condition) countUnseen(b *model.Builder, edits Edits) {
	b.P.Limited = true
	if b.P.Rec.Endless {
		return
	}
	back := condition{object: trace.None}
	for _, s := range c.passes {
		back.signals = append(back.signals, signaling{s.end, s})
	}
	for _, s := range c.signals {
		back.passes = append(back.passes, s.section)
	}
	back.count(b, edits, back.least())
}

// least returns how many there must have been at first, for all to have gone on: as many as the
// count falls below 0 if it begins with 0.
func (c *condition) least() int {
	now, least := 0, 0
	for _, m := range c.moments() {
		switch m.what {
		case someoneGoesOn:
			now--
			least = min(least, now)
		case someoneSignals:
			now++
		}
	}
	return -least
}

// counted returns how many there were at first, and whether the rule is good. The count before the
// window is not recorded: of all numbers that make a difference it takes the one that is right most
// often, the lowest of several. It goes up to mostLeftOver times through the moments.
func counted(all []moment) (atFirst int, ok bool) {
	type value struct {
		m   moment
		now int
	}
	// The count at each section, if it began with 0; any other beginning shifts all alike.
	var values []value
	now, least, most := 0, math.MaxInt, math.MinInt
	for _, m := range all {
		switch m.what {
		case someoneComes, someoneGoesOn:
			values = append(values, value{m, now})
			least, most = min(least, now), max(most, now)
			if m.what == someoneGoesOn {
				now--
			}
		case someoneSignals:
			now++
		}
	}
	// With -most at first no section would find anything, with 1-least each one would.
	best := -1
	for first := -most; first <= 1-least && most-least < mostLeftOver; first++ {
		var f Fit
		for _, v := range values {
			f.hold(v.m, v.now+first > 0)
		}
		if n := f.Right[FitWaited] + f.Right[FitPassed] + f.Right[fitWentOn]; f.good() && n > best {
			best, atFirst, ok = n, first, true
		}
	}
	return atFirst, ok
}

// mostLeftOver is how many signals may be left over. Where there are more, they are not counted:
// the signals do not pair with what goes on, as with a Broadcast for any number of goroutines,
// whose count runs away. Larger, and the search takes longer; smaller, and deep queues have no
// rule.
const mostLeftOver = 200

// mostNews bounds the memory for ops of rule latest: 60 MB in each program.
const mostNews = 1 << 20

// latest is the rule of news: one that goes on has seen all that there is, and waits for the next
// (publish and subscribe, a watched version, a configuration). A subscriber that was busy for three
// issues goes on at once, and has missed two. The state is how many issues each goroutine has seen.
//
// The first visit of a goroutine has no earlier one, and is not held against the rule: it takes
// leastSections later ones, which goroutines that come once do not have. The replay has a channel
// for each goroutine, in which a signal leaves an element; one more finds no room and is dropped,
// so that a goroutine that fell behind goes on once. The signaller never waits (Tries). It adds as
// many ops as signals times goroutines, mostNews at most: where there are more, there is no rule.
func latest(c *condition) replacement {
	signals, seen := 0, map[int32]int{} // so far, and by list: how many it has seen
	var f Fit
	for _, m := range c.moments() {
		if m.what == someoneSignals {
			signals++
			continue
		}
		// Comes or goes on: it must wait if all is old.
		if n, known := seen[m.pass.list]; known {
			f.hold(m, n < signals)
		}
		if m.what == someoneGoesOn {
			seen[m.pass.list] = signals
		}
	}
	if f.cases() < leastSections || !f.good() || len(seen)*len(c.signals) > mostNews {
		return nil
	}
	return func(b *model.Builder, edits Edits) {
		objects := map[int32]int32{}
		var order []int32
		for _, s := range c.passes {
			object, ok := objects[s.list]
			if !ok {
				object = b.NewObject(model.ObjectInfo{Kind: model.ObjectChan, Capacity: 1})
				objects[s.list] = object
				order = append(order, object)
			}
			edits.instead(b, s, model.OpReceive, object)
		}
		for _, s := range c.signals {
			e := edits.Of(s.section.list)
			// Each signal is news for every goroutine.
			for _, object := range order {
				e.before[s.op] = append(e.before[s.op], model.Op{Kind: model.OpSend, Arg: object, At: s.section.at, Late: -1, Tries: true, Drops: true})
			}
		}
	}
}

// meets is the rule of barriers: the last one of a number of goroutines signals, and the others
// wait for it (a cyclic barrier; phases of a parallel program).
//
//	A   |~~~~~~~~~~~~~~~~|         A and B wait, C is the last and signals:
//	B        |~~~~~~~~~~~|         three have come for each signal.
//	C                    *
//
// Its size is how many come from one signal to the next, in 95 % of the rounds. All but the last
// one of a round must have waited, leastSections times at least; of the first round that is not
// asked, since it began before the window. Barriers in which each one that comes signals, or which
// have several sizes, are not found.
func meets(c *condition) replacement {
	rounds, waited := map[int]int{}, 0
	there, total := 0, 0
	first := 0 // how many came in the first round, which the window has the end of
	for _, m := range c.moments() {
		switch m.what {
		case someoneComes:
			there++
			if m.pass.waits >= 0 {
				waited++
			}
		case someoneSignals:
			if total == 0 {
				first = there
			}
			rounds[there]++
			total++
			there = 0
		}
	}
	size := 0
	// At most one size has 95 %, so that the order of the map is no matter.
	for n, times := range rounds {
		if float64(times) >= model.Agreeing*float64(total) {
			size = n
		}
	}
	if size < 2 || (size-1)*(total-1) < leastSections || float64(waited) < model.Agreeing*float64((size-1)*(total-1)) {
		return nil
	}
	return func(b *model.Builder, edits Edits) {
		// Those missing in the first round were there before.
		object := b.NewObject(model.ObjectInfo{Kind: model.ObjectBarrier, Capacity: int32(size), Count: int32(max(0, size-first))})
		for _, s := range c.passes {
			e := edits.Of(s.list)
			// The last one meets the others once it has given the lock back: met there, it would
			// hold the lock while they take it again. The others meet it where they gave the lock
			// back to wait; what they did with the lock before, such as to count, stays.
			at := s.end
			if s.waits >= 0 {
				at = b.P.Lists[s.list].LockBefore(b.P.Lists[s.list].AwaitsBefore(s.lock))
				skip(b, e, s, at+1, s.lock)
			}
			e.After[at] = append(e.After[at], waiting(b, s, model.OpMeet, object))
		}
	}
}

// doneForAll recognizes what is done once for all (single flight): others wait while one does it,
// from when it had the lock before until it signals. Which one does it, and when it has to be done
// again, stays as it was.
//
//	loader   |lock: not there|==== loads ====|lock: signals|
//	others            |~~~~~~~~~~ wait ~~~~~~~~~~|           as long as one loads
func doneForAll(c *condition) bool {
	type change struct {
		at   int64
		less bool
	}
	// One that loads has two sections in a row: it finds that it has to, and it is done.
	var changes []change
	for _, s := range c.signals {
		if n := s.section.number; n > 0 {
			changes = append(changes, change{c.sections[s.section.list][n-1].at, false}, change{s.section.at, true})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	now, next := 0, 0
	var f Fit
	for _, m := range c.moments() {
		if m.what == someoneSignals {
			continue
		}
		// The section that finds it has to load comes before its own load counts; what goes on with
		// the lock of the signal comes behind that load.
		for ; next < len(changes) && (changes[next].at < m.at || changes[next].at == m.at && changes[next].less); next++ {
			now++
			if changes[next].less {
				now -= 2
			}
		}
		f.hold(m, now <= 0)
	}
	return f.good()
}
