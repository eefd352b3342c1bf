package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
)

// Coalescing by a timer: requests are gathered for some time and then dealt with together. The
// first of them calls time.AfterFunc, and all wait for the end of the function. DB.Batch of
// go.etcd.io/bbolt is written so, with MaxBatchDelay as the time, but for batches of MaxBatchSize,
// which come sooner.
//
//	client A   sets the timer |~~~~~~~~~~~~~~~~~~~ wait ~~~~~~~~~~~~~~~~~~~~|
//	client B                        |~~~~~~~~~~~~~ wait ~~~~~~~~~~~~~~~~~~~~|
//	called                    <------ delay ------>|== flush, for A and B ==|
//
// The function runs in a goroutine of its own, which the timer starts (time/sleep.go, goFunc): in
// the trace no goroutine has created it, and what set the timer is not shown. Kept as recorded it
// would come at its recorded time, however early A is.
//
// The rule: the first goroutine that waits sets the timer, which is always set for as long; a call
// is for all that have come until then. It is taken if 95 % of delays and waits are so (gathers).
// Otherwise a function that is called at even intervals is a ticker's, and comes when it is due;
// any other has the waits reported as of unknown origin (noteUncalled). That a goroutine
// which does not wait sets the timer is such a case.
//
// TestCalledLater holds the rule, with a flush that takes longer for more clients, and the doubt
// where the timer is set at random; workload coalesced of integration/accuracy has the rule, too.
//
// A called is a goroutine that a timer has called: at is when, ns of the recording's clock.
type called struct {
	list    int32
	at      int64
	answers []model.Handover // in the order in which the waits began
}

// delay returns how long after the first wait it was called, ns: for how long the timer was set,
// and how late it was.
func (c *called) delay() int64 { return c.at - c.answers[0].From }

// first returns the op that ends the first wait. The order of answers is that of the waits, not of
// the wake-ups: closing a channel wakes all in an order of the runtime's (runtime/chan.go,
// closechan).
func (c *called) first() model.Place {
	first := c.answers[0].Waker
	for _, a := range c.answers {
		first.Op = min(first.Op, a.Waker.Op)
	}
	return first
}

// whole reports whether all of it is in the recording: its end, and the beginning of its first
// wait.
func whole(p *model.Program, c *called) bool {
	return p.Lists[c.list].Ended && len(c.answers) > 0 && c.answers[0].From > p.Rec.Start
}

// gatherings has the first goroutine that waits for a timer's call set that timer, where calls
// follow the rule. Functions are distinguished by where they begin; all is as answerings returns
// it.
func gatherings(b *model.Builder, all []model.Handover, edits Edits) {
	p := b.P
	of := UsedAt(p)
	// How often goroutines wait at each place, and which waits each goroutine ended.
	by, waits := map[int32][]model.Handover{}, map[int32]int{} // by list, and by site
	for _, a := range all {
		by[a.Waker.List] = append(by[a.Waker.List], a)
		waits[of[p.SiteOf(a.Waiter)]]++
	}
	unknown := map[int32]bool{}
	for _, group := range listsByBegin(p, func(l *model.List) bool { return l.Timed && !l.Called }) {
		markUncalled(p, group, by, unknown)
	}
	for _, group := range listsByBegin(p, func(l *model.List) bool { return l.Called }) {
		answers := map[int32]int{} // by site
		for _, l := range group {
			for _, a := range by[l] {
				answers[of[p.SiteOf(a.Waiter)]]++
			}
		}
		// Only places count where nothing but these calls ends waits. At others, where a full batch
		// is flushed at once, for example, the waits are not decided anew, but doubted.
		calls := make([]called, len(group))
		for i, l := range group {
			slices.SortStableFunc(by[l], func(a, b model.Handover) int { return cmp.Compare(a.From, b.From) })
			calls[i] = called{list: l, at: p.Lists[l].Created}
			calls[i].answers = slices.DeleteFunc(slices.Clone(by[l]), func(a model.Handover) bool { // others end such waits, too
				site := of[p.SiteOf(a.Waiter)]
				return answers[site] < waits[site]
			})
		}
		var x model.Growing
		if !gathers(p, calls) || !grow(&x, p, tasks(p, calls)) {
			markUncalled(p, group, by, unknown)
			continue
		}
		call(b, calls, &x, edits)
	}
	noteUncalled(p, all, unknown)
}

// tasks returns the work of whole calls, from when they came to their first answer: their first op
// is the wait until they come, which FromOutside of package model has put there.
func tasks(p *model.Program, calls []called) (all []task) {
	for i := range calls {
		if c := &calls[i]; whole(p, c) {
			first := c.first()
			all = append(all, task{p.Lists[c.list].Ops[1:first.Op], p.Op(first).At - c.at, len(c.answers)})
		}
	}
	return all
}

// listsByBegin returns goroutines, in order of time, by where they begin.
func listsByBegin(p *model.Program, wanted func(*model.List) bool) [][]int32 {
	var all []int32
	for l := range p.Lists {
		if wanted(&p.Lists[l]) {
			all = append(all, int32(l))
		}
	}
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(p.Lists[a].Created, p.Lists[b].Created) })
	return model.Grouped(all, func(l int32) int32 { return p.Lists[l].Site })
}

// gathers reports whether each call comes as long after the first of its waits, give or take
// MostLate, and is for all that have come until then: from the call before to this one, give or
// take taking. Calls are in order of time. It takes 30 of them (LeastRounds).
func gathers(p *model.Program, calls []called) bool {
	var delays []float64
	for i := range calls {
		if c := &calls[i]; whole(p, c) {
			delays = append(delays, float64(c.delay()))
		}
	}
	if len(delays) < LeastRounds {
		return false
	}
	// One case for the delay of each call, and one for each wait that it ended.
	usual := int64(middle(slices.Clone(delays)))
	good, all, before := 0, 0, int64(0)
	for i := range calls {
		c := &calls[i]
		if !whole(p, c) {
			before = c.at
			continue
		}
		all += 1 + len(c.answers)
		if d := c.delay(); d-usual <= MostLate && usual-d <= MostLate {
			good++
		}
		for _, a := range c.answers {
			if before-taking <= a.From && a.From <= c.at+taking {
				good++
			}
		}
		before = c.at
	}
	return float64(good) >= hidden.Fairness*float64(all)
}

// call has the first goroutine that waits set the timer, and all that wait when it is over wait for
// the end of what it calls. Waits become OpAsk of one object, due. Package sim starts the next of
// Calls a delay behind the first OpAsk that finds the object without another one; the goroutine
// takes all that wait then (OpTake) into an object of its own, since several calls may be under way
// at a time, and answers them (OpAnswer).
func call(b *model.Builder, all []called, grows *model.Growing, edits Edits) {
	p := b.P
	all = slices.DeleteFunc(slices.Clone(all), func(c called) bool { return !whole(p, &c) })
	due := b.NewObject(model.ObjectInfo{Kind: model.ObjectBatch, Capacity: model.Unlimited, Site: p.SiteOf(all[0].answers[0].Waiter)})
	p.Inferred = p.Inferred || !p.Rec.Told
	if p.Calls == nil {
		p.Calls = map[int32]*model.Calls{}
	}
	x := &model.Calls{}
	p.Calls[due] = x
	for i := range all {
		c := &all[i]
		l := &p.Lists[c.list]
		l.Born, l.Set = true, true
		x.Lists, x.Delays = append(x.Lists, c.list), append(x.Delays, c.delay())
		taken := b.NewObject(model.ObjectInfo{Kind: model.ObjectBatch, Capacity: model.Unlimited, Growing: *grows})
		mine := edits.Of(c.list)
		mine.drop[0] = true // the wait until it came
		mine.before[0] = append(mine.before[0], model.Op{Kind: model.OpTake, Arg: due, Nth: taken, D: int64(len(c.answers)), At: c.at, Late: -1})
		for _, a := range c.answers {
			asks(b, a, due, edits)
		}
		first := c.first().Op
		mine.before[int(first)] = append(mine.before[int(first)], model.Op{Kind: model.OpAnswer, Arg: taken, At: l.Ops[first].At, Late: -1})
	}
}

// markUncalled marks goroutines that timers called, unless these come at even intervals: a replay
// has them called when they were, which is right for a ticker, as its ticks come at the same times
// in a faster program, too. By has the waits that each goroutine ended.
func markUncalled(p *model.Program, group []int32, by map[int32][]model.Handover, unknown map[int32]bool) {
	var times []int64
	var lengths []float64
	for _, l := range group {
		times = append(times, p.Lists[l].Created)
		for _, a := range by[l] {
			lengths = append(lengths, float64(a.At-a.From))
		}
	}
	if len(lengths) == 0 {
		return
	}
	if len(times) >= LeastTimes {
		if _, ok := Even(times, lengths); ok {
			return
		}
	}
	for _, l := range group {
		unknown[l] = true
	}
}

// noteUncalled notes for how long goroutines have waited for calls of unknown origin, by list: each
// wait that such a call ended, and of one that another goroutine ended the part until a timer had
// last let that one go on. Who waits for a timer alone may have set it, and is not counted. All is
// as answerings returns it.
//
//	client      |~~~~~~~~~~ wait for its answer ~~~~~~~~~~|
//	reader   ~~~~~~~~~ wait for the network ~~~~~~~~|= read =|
//	called                                          | by a timer that the client may have set
func noteUncalled(p *model.Program, all []model.Handover, unknown map[int32]bool) {
	ends := timed(p)
	if len(ends)+len(unknown) == 0 {
		return
	}
	p.UncalledFor = map[int32]int64{}
	last := map[int32]int64{} // when a timer last let a goroutine go on, ns
	for _, a := range all {
		for ; len(ends) > 0 && ends[0].at <= a.At; ends = ends[1:] {
			last[ends[0].list] = ends[0].at
		}
		until, ok := last[a.Waker.List]
		if unknown[a.Waker.List] {
			until, ok = a.At, true
		}
		if ok && until > a.From {
			p.UncalledFor[a.Waiter.List] += until - a.From
			last[a.Waiter.List] = until
		}
	}
}

// A timedEnd is when a timer ended the wait of a goroutine.
type timedEnd struct {
	list int32
	at   int64
}

// timed returns where timers ended waits by goroutines that they called, in order of time.
func timed(p *model.Program) (all []timedEnd) {
	for at, o := range p.All() {
		if o.Kind == model.OpOut && o.Called {
			all = append(all, timedEnd{at.List, o.At})
		}
	}
	slices.SortFunc(all, func(a, b timedEnd) int { return cmp.Compare(a.at, b.at) })
	return all
}

// ByPoint returns, by the name of each progress point, which part of the window the goroutines that
// visit it have waited, at most 1; nil for none. Waited is by list, ns.
func ByPoint(p *model.Program, waited map[int32]int64) (parts map[string]float64) {
	visited := make([]bool, len(p.Points))
	for list, ns := range waited {
		clear(visited)
		Visits(p, list, visited)
		for point, is := range visited {
			if !is {
				continue
			}
			if parts == nil {
				parts = map[string]float64{}
			}
			name := p.Points[point].Name
			parts[name] = min(1, parts[name]+float64(ns)/float64(max(1, p.Rec.End-p.Rec.Start)))
		}
	}
	return parts
}

// What is occasional, for package doubt, and what rounds are, for this one.
const (
	// LeastRounds is how many rounds it takes to call something occasional, or a goroutine a
	// batcher, and MostTaken is which part of them may have occasional work, of 1: below half, so
	// that not to have it is the rule.
	LeastRounds = 30
	MostTaken   = 0.45
	// LeastOccasions is how many times it must be done, and LeastShare which part of the rounds'
	// time it must take, for how often it is done to matter.
	LeastOccasions = 2
	LeastShare     = 0.01
)

// Visits notes which progress points a goroutine visits: it sets elements of points, and clears
// none.
func Visits(p *model.Program, list int32, points []bool) {
	for k := range p.Lists[list].Ops {
		if point := p.Visit(&p.Lists[list].Ops[k]); point >= 0 {
			points[point] = true
		}
	}
}
