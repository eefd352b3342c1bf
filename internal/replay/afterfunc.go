package replay

import (
	"cmp"
	"slices"
)

// A timer calls a function in a goroutine of its own (time.AfterFunc), and the trace does not show what set it. Where requests are gathered
// for some time to be dealt with together, the first of them does: each goroutine begins a fixed time after the first wait that it ends.

// calls are those of one function, in order of time. The first who waits for the one that is due sets the timer for it.
type calls struct {
	lists  []int32
	delays []int64
}

// A called is a goroutine that a timer has called.
type called struct {
	list    int32
	at      int64
	answers []answering // in the order in which the waits began
}

// delay returns how long after the first wait it was called.
func (c *called) delay() int64 { return c.at - c.answers[0].from }

// first returns the op that ends the first wait.
func (c *called) first() place {
	first := c.answers[0].wake
	for _, a := range c.answers {
		first.op = min(first.op, a.wake.op)
	}
	return first
}

// whole reports whether all of it is in the recording.
func (p *program) whole(c *called) bool {
	return p.lists[c.list].ended && len(c.answers) > 0 && c.answers[0].from > p.rec.Start
}

// gatherings has the first who waits for a timer's call set that timer, where calls follow the rule.
func (b *builder) gatherings(all []answering, edits map[int32]*edit) {
	p := b.p
	of := p.usedAt()
	by, waits := map[int32][]answering{}, map[int32]int{} // by list, and by site
	for _, a := range all {
		by[a.wake.list] = append(by[a.wake.list], a)
		waits[of[p.siteOf(a.wait)]]++
	}
	for _, group := range p.calledLists() {
		answers := map[int32]int{} // by site
		for _, l := range group {
			for _, a := range by[l] {
				answers[of[p.siteOf(a.wait)]]++
			}
		}
		calls := make([]called, len(group))
		for i, l := range group {
			mine := slices.DeleteFunc(by[l], func(a answering) bool { // others end such waits, too
				site := of[p.siteOf(a.wait)]
				return answers[site] < waits[site]
			})
			slices.SortStableFunc(mine, func(a, b answering) int { return cmp.Compare(a.from, b.from) })
			calls[i] = called{list: l, at: p.lists[l].created, answers: mine}
		}
		var x growing
		if !p.gathers(calls) || !x.grow(p, p.tasks(calls)) {
			b.uncalled(calls)
			continue
		}
		b.call(calls, &x, edits)
		for site, n := range answers {
			if n == waits[site] {
				p.byRule = append(p.byRule, site)
			}
		}
	}
}

// tasks returns the work of calls.
func (p *program) tasks(calls []called) (all []task) {
	for i := range calls {
		if c := &calls[i]; p.whole(c) {
			first := c.first()
			all = append(all, task{p.lists[c.list].ops[1:first.op], p.op(first).at - c.at, len(c.answers)})
		}
	}
	return all
}

// calledLists returns the goroutines that timers have called, in order of time, by where they begin.
func (p *program) calledLists() [][]int32 {
	var all []int32
	for l := range p.lists {
		if p.lists[l].called {
			all = append(all, int32(l))
		}
	}
	slices.SortStableFunc(all, func(a, b int32) int { return cmp.Compare(p.lists[a].created, p.lists[b].created) })
	groups := grouped(len(all), func(i int32) int32 { return p.lists[all[i]].site })
	for _, g := range groups {
		for k := range g {
			g[k] = all[g[k]]
		}
	}
	return groups
}

// gathers reports whether each call comes as long after the first of those who wait for it, and is for all that have come until then.
func (p *program) gathers(calls []called) bool {
	var delays []float64
	for i := range calls {
		if c := &calls[i]; p.whole(c) {
			delays = append(delays, float64(c.delay()))
		}
	}
	if len(delays) < leastRounds {
		return false
	}
	usual := int64(middle(slices.Clone(delays)))
	good, all, before := 0, 0, int64(0)
	for i := range calls {
		c := &calls[i]
		if !p.whole(c) {
			before = c.at
			continue
		}
		all += 1 + len(c.answers)
		if d := c.delay(); d-usual <= mostLate && usual-d <= mostLate {
			good++
		}
		for _, a := range c.answers {
			if before-taking <= a.from && a.from <= c.at+taking {
				good++
			}
		}
		before = c.at
	}
	return float64(good) >= fairness*float64(all)
}

// call has the first goroutine that waits set the timer, and all that wait when it is over wait for the end of what it calls.
func (b *builder) call(all []called, grows *growing, edits map[int32]*edit) {
	p := b.p
	all = slices.DeleteFunc(slices.Clone(all), func(c called) bool { return !p.whole(&c) })
	due := b.newObject(objectInfo{kind: objectBatch, capacity: unlimited, site: p.siteOf(all[0].answers[0].wait)})
	p.inferred = p.inferred || !p.rec.told
	if p.calls == nil {
		p.calls = map[int32]*calls{}
	}
	x := &calls{}
	p.calls[due] = x
	for i := range all {
		c := &all[i]
		l := &p.lists[c.list]
		l.born, l.set = true, true
		x.lists, x.delays = append(x.lists, c.list), append(x.delays, c.delay())
		taken := b.newObject(objectInfo{kind: objectBatch, capacity: unlimited, growing: *grows})
		mine := editOf(edits, c.list)
		mine.drop[0] = true // the wait until it came
		mine.before[0] = append(mine.before[0], op{kind: opTake, arg: due, nth: taken, d: int64(len(c.answers)), at: c.at, late: -1})
		for _, a := range c.answers {
			b.asks(a, due, edits)
		}
		first := c.first().op
		mine.before[int(first)] = append(mine.before[int(first)], op{kind: opAnswer, arg: taken, at: l.ops[first].at, late: -1})
	}
}

// set has a timer call the next one that was recorded.
func (s *simulation) set(b *object, c *calls, set uint16) {
	n := int(b.count) % len(c.lists)
	b.count++
	i := s.admit(c.lists[n])
	s.runners[i].state = away
	s.backIn(i, s.scaled(c.delays[n], set))
}

// uncalled handles waits for what timers call, though it is not known what set these: the replay has them called when they were.
func (b *builder) uncalled(calls []called) {
	p := b.p
	var times []int64
	var lengths []float64
	for i := range calls {
		times = append(times, calls[i].at)
		for _, a := range calls[i].answers {
			lengths = append(lengths, float64(a.at-a.from))
		}
	}
	if len(lengths) == 0 {
		return
	}
	if len(times) >= leastTimes {
		if _, ok := even(times, lengths); ok {
			return
		}
	}
	if p.uncalledFor == nil {
		p.uncalledFor = map[int32]int64{}
	}
	for i := range calls {
		for _, a := range calls[i].answers {
			p.uncalledFor[a.wait.list] += a.at - a.from
		}
	}
}

// addUncalled adds which part of the window goroutines that visit a progress point spent in such waits.
func (p *program) addUncalled(parts map[string]float64) map[string]float64 {
	for list, waited := range p.uncalledFor {
		visited := make([]bool, len(p.points))
		p.visits(list, visited)
		for point, is := range visited {
			if !is {
				continue
			}
			if parts == nil {
				parts = map[string]float64{}
			}
			name := p.points[point].name
			parts[name] = min(1, parts[name]+float64(waited)/float64(max(1, p.rec.End-p.rec.Start)))
		}
	}
	return parts
}
