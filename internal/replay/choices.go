package replay

import (
	"cmp"
	"slices"
)

// A select statement takes the case that is ready first, or any of several that are ready at once. So the replay decides anew how
// it ends, and goes on with what the goroutine did the next time that the recorded one ended so: an element that comes before the
// timer has it do what it did for other elements.

// A choice is a select statement that a list comes to.
type choice struct {
	list, op, end int32 // where it begins, and the op that ended it
	object        int32 // that it received from; none for a timer
	statement     int32
	cases         []int32 // channels that it may receive from
	told          bool    // all of them are in its marks
	// past is what the goroutine received, or waited for in vain, right before: as many elements, and more, may be a batch.
	past []int32 // ops
	key  string
	// blind means that one of these was sent before the window: where an answer to it goes is not known.
	blind bool
	open  []int32 // spans
	// untimed is after which time no timer had ended it in the recording; 0 where one did.
	untimed int64
	// asks means that what comes by made is the answer to an element, see requests.go.
	asks bool
	// made is the channel that is made for this choice, and is used by no other before; none for no such.
	made int32
}

// A statement is a select statement of one goroutine, by the stack.
type statement struct {
	from, to int     // choices of its list
	shared   []int32 // channels that it has received from several times
	timer    bool
	limit    int64 // after which a timer ends it, ns
	// whole means that the limit is of a row of select statements, since the first of them.
	whole   bool
	decides bool                   // the list can go on elsewhere
	like    map[outcomeKey][]int32 // choices, in order
}

// An outcomeKey is a way in which a select statement ended, behind the same past, with the same regions open.
type outcomeKey struct {
	past    string
	set     uint16
	open    int
	outcome int32
}

// fresh is the outcome of receiving from a channel that is used once, as one made for each request.
const fresh = -2

// findChoices leaves the select statements that end in more than one way, of goroutines that have spans or visit progress points.
// Others work for themselves.
func (p *program) findChoices() {
	p.cases, p.stations = map[int32]bool{}, []station{{}}
	if !p.chooses() {
		return
	}
	sends := p.sentTo()
	var together [][]int32
	for i := range p.lists {
		l := &p.lists[i]
		l.drop(func(o *op) bool { return o.kind == opChoose && !o.loose })
		if !l.has(opChoose) {
			continue
		}
		keep := l.has(opOpen) || l.has(opVisit)
		if keep {
			p.unwaited(l, sends)
			p.choices, p.statements = nil, nil
			p.choicesOf(int32(i), sends)
			keep = slices.ContainsFunc(p.statements, func(s statement) bool { return len(s.like) > 0 })
		}
		if !keep {
			l.drop(func(o *op) bool { return o.kind == opChoose })
			continue
		}
		for k := range p.choices {
			for _, object := range p.choices[k].cases {
				p.cases[object] = true
			}
		}
		for k := range p.statements {
			if objects := p.statements[k].shared; len(objects) > 1 {
				l.station = p.stationOf(objects)
			}
		}
	}
	p.choices, p.statements = nil, nil
	for i := range p.stations {
		together = append(together, p.stations[i].objects)
	}
	p.prefer(together)
}

// chooses reports whether there are marks of select statements.
func (p *program) chooses() bool { return len(p.told) > 0 }

// choicesOf adds the choices and statements of a list.
func (p *program) choicesOf(list int32, sends map[int32]bool) {
	l := &p.lists[list]
	first, before := len(p.choices), len(p.statements)
	times := map[int32]int{} // by object
	var sites []int32        // of statements
	of := map[int32]int32{}  // statements by object
	var open []int32
	gives := l.givesTo()
	for k := range l.ops {
		o := &l.ops[k]
		switch o.kind {
		case opOpen:
			open = append(open, o.arg)
		case opClose:
			open = slices.DeleteFunc(open, func(s int32) bool { return s == o.arg })
		case opChoose:
			end, object, ok := l.ends(k, sends)
			if !ok {
				continue
			}
			c := choice{list: list, op: int32(k), end: int32(end), object: object, statement: none, open: slices.Clone(open)}
			if site := l.ops[end].site; site != 0 {
				i := slices.Index(sites, site)
				if i < 0 {
					i = len(sites)
					sites = append(sites, site)
					p.statements = append(p.statements, statement{like: map[outcomeKey][]int32{}})
				}
				c.statement = int32(before + i)
				of[object] = c.statement
			}
			times[object]++
			c.casesOf(p, o, sends, gives)
			p.choices = append(p.choices, c)
		}
	}
	p.placeChoices(first, before, times, of)
	p.likenChoices(first)
	p.dropUniform(first, before)
}

// placeChoices assigns the choices of a list, from first, to its statements, from before: by where they ended, or by the channel.
func (p *program) placeChoices(first, before int, times map[int32]int, of map[int32]int32) {
	for i := first; i < len(p.choices); i++ {
		c := &p.choices[i]
		if c.statement == none && c.object != none {
			if s, ok := of[c.object]; ok {
				c.statement = s
			} else if len(p.statements) == before+1 {
				c.statement = int32(before)
			}
		}
		if c.statement == none {
			continue
		}
		s := &p.statements[c.statement]
		s.timer = s.timer || c.object == none
		if c.object != none && times[c.object] > 1 && !slices.Contains(s.shared, c.object) {
			s.shared = append(s.shared, c.object)
		}
	}
}

// likenChoices groups the choices of a list, from first, by the past and the outcome.
func (p *program) likenChoices(first int) {
	for i := first; i < len(p.choices); i++ {
		c := &p.choices[i]
		if c.statement == none {
			continue
		}
		s := &p.statements[c.statement]
		for _, object := range s.shared {
			if !c.told && !slices.Contains(c.cases, object) {
				c.cases = append(c.cases, object)
			}
		}
		c.remember(p)
		k := c.like(p, c.outcome(p, c.object))
		s.like[k] = append(s.like[k], int32(i))
	}
}

// dropUniform sets the choices of a list's statements, and leaves no groups to the statements that end in one way only.
func (p *program) dropUniform(first, before int) {
	for i := before; i < len(p.statements); i++ {
		s := &p.statements[i]
		s.from, s.to = first, len(p.choices)
		ways := map[int32]bool{}
		for k := range s.like {
			ways[k.outcome] = true
		}
		if len(ways) < 2 {
			s.like = nil
		}
	}
}

// givesTo returns the objects that a goroutine sends to, and does not receive from.
func (l *list) givesTo() map[int32]bool {
	to := map[int32]bool{}
	for _, kind := range []opKind{opSend, opReceive} {
		for k := range l.ops {
			if o := &l.ops[k]; o.kind == kind {
				to[o.arg] = kind == opSend
			}
		}
	}
	return to
}

// casesOf finds the channels that a select statement may receive from: those in its marks that others send to, or, without such
// marks, the one that it did receive from, or that the goroutine receives from next.
func (c *choice) casesOf(p *program, begins *op, sends, gives map[int32]bool) {
	add := func(object int32) {
		if object >= 0 && sends[object] && !slices.Contains(c.cases, object) {
			c.cases = append(c.cases, object)
		}
	}
	if begins.nth > 0 {
		for _, object := range p.told[begins.nth-1] {
			if !gives[object] { // else it is a case that sends
				add(object)
			}
		}
		c.told = len(c.cases) > 0
	}
	if c.object == none && len(c.cases) == 0 {
		add(p.lists[c.list].later(int(c.end)))
	}
	add(c.object)
}

// later returns the channel that a goroutine receives from when its timer has ended, before anything else that it chooses; none for
// no such.
func (l *list) later(end int) int32 {
	for k := end + 1; k < len(l.ops) && l.ops[k].kind != opChoose; k++ {
		if l.ops[k].kind == opReceive {
			return l.ops[k].arg
		}
	}
	return none
}

// remember finds what the goroutine received right before a choice.
func (c *choice) remember(p *program) {
	l := &p.lists[c.list]
	for k := c.op - 1; k >= 0 && len(c.past) < mostPast; k-- {
		switch o := &l.ops[k]; {
		case o.kind == opRun || o.kind == opChoose:
			continue
		case o.kind == opReceive, o.kind == opOut && l.chooses(int(k)):
			c.past = append(c.past, k)
			if o.kind == opReceive {
				c.key += "r"
			} else {
				c.key += "t"
			}
			continue
		}
		break
	}
}

// mostPast is how many elements in a row are distinguished from more.
const mostPast = 16

func (c *choice) outcome(p *program, object int32) int32 {
	if object == none || slices.Contains(p.statements[c.statement].shared, object) {
		return object
	}
	return fresh
}

// own returns the channel that a choice may receive from and that is used once, as one made for each request; none if there is no such,
// or several.
func (c *choice) own(p *program) int32 {
	own := int32(none)
	for _, object := range c.cases {
		if c.outcome(p, object) != fresh {
			continue
		}
		if own != none {
			return none
		}
		own = object
	}
	return own
}

func (c *choice) like(p *program, outcome int32) outcomeKey {
	return outcomeKey{c.key, p.lists[c.list].ops[c.op].set, len(c.open), outcome}
}

// settleChoices sets, in the ops where select statements begin, which choices they are, once all ops have their places.
func (p *program) settleChoices() {
	p.choices, p.statements = nil, nil
	if !p.chooses() {
		return
	}
	sends := p.sentTo()
	for i := range p.lists {
		l := &p.lists[i]
		if !l.has(opChoose) {
			continue
		}
		if l.serves < 0 {
			p.choicesOf(int32(i), sends)
		}
		for k := range l.ops {
			if o := &l.ops[k]; o.kind == opChoose {
				o.arg = none
			}
		}
	}
	for i := range p.choices {
		c := &p.choices[i]
		if !p.decided(c) {
			continue
		}
		l := &p.lists[c.list]
		l.ops[c.op].arg = int32(i)
		if n := len(c.past); n > 0 {
			l.ops[c.past[n-1]].row = true
		}
		for _, k := range c.past {
			c.blind = c.blind || l.ops[k].kind == opReceive && l.ops[k].segment == 0
		}
	}
	p.settleStatements()
	p.findMade()
	p.findRequests()
}

// settleStatements finds the limits of statements, and drops the examples that the replay cannot follow.
func (p *program) settleStatements() {
	helps := p.helped()
	for i := range p.statements {
		p.limits(int32(i), helps)
		for k, all := range p.statements[i].like {
			p.statements[i].like[k] = slices.DeleteFunc(all, func(c int32) bool {
				x := &p.choices[c]
				l := &p.lists[x.list]
				return x.blind || x.end < l.from || x.end >= l.to
			})
		}
	}
}

// findMade finds the channels that are made for a choice.
func (p *program) findMade() {
	receives := map[int32]int{}
	for i := range p.lists {
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.kind == opReceive {
				receives[o.arg]++
			}
		}
	}
	before := map[int32]bool{}
	for i := range p.choices {
		c := &p.choices[i]
		c.made = none
		for _, object := range c.cases {
			if p.decided(c) && receives[object] <= 2 && !before[object] && c.outcome(p, object) == fresh {
				c.made = object
			}
			before[object] = true
		}
	}
}

// decided reports whether a choice is of a select statement that has ended in several ways.
func (p *program) decided(c *choice) bool {
	return c.statement != none && p.statements[c.statement].like != nil
}

// decides reports whether a list can go on elsewhere than it did: its goroutine neither waits for others nor wakes them up but by
// objects, unless they only work for themselves.
func (p *program) decides(l *list, helps []bool) bool {
	return l.to > 0 && !slices.ContainsFunc(l.ops[l.from:l.to], func(o op) bool {
		return o.kind == opWait || o.kind == opWake && !helps[o.arg]
	})
}

// helped returns which tokens goroutines wait for that have no spans and visit no progress points.
func (p *program) helped() []bool {
	helps := make([]bool, p.tokens)
	for i := range p.lists {
		if l := &p.lists[i]; l.has(opOpen) || l.has(opVisit) {
			continue
		}
		for k := range p.lists[i].ops {
			if o := &p.lists[i].ops[k]; o.kind == opWait {
				helps[o.arg] = true
			}
		}
	}
	return helps
}

// limits finds after which time a timer ends a statement: since the goroutine came to it, or to the first of several in a row.
func (p *program) limits(i int32, helps []bool) {
	s := &p.statements[i]
	var alone, whole []int64
	s.decides = p.decides(&p.lists[p.choices[s.from].list], helps)
	for k := s.from; k < s.to; k++ {
		c := &p.choices[k]
		if c.statement != i {
			continue
		}
		l := &p.lists[c.list]
		end, since := l.ops[c.end].at, l.ops[c.op].at
		first := since
		if n := len(c.past); n > 0 {
			first = l.ops[c.past[n-1]].at
		}
		if c.object != none {
			continue
		}
		alone = append(alone, end-since)
		whole = append(whole, end-first)
	}
	if len(alone) == 0 {
		return
	}
	slices.Sort(alone)
	slices.Sort(whole)
	n := len(alone)
	spread := func(v []int64) int64 { return v[n-1-n/10] - v[n/10] }
	s.limit = alone[n/2]
	if cmp.Less(spread(whole), spread(alone)) {
		s.limit, s.whole = whole[n/2], true
	}
	for k := s.from; k < s.to; k++ { // a timer may have been later there
		if c := &p.choices[k]; c.statement == i && c.object != none {
			ops := p.lists[c.list].ops
			since := ops[c.op].at
			if n := len(c.past); n > 0 && s.whole {
				since = ops[c.past[n-1]].at
			}
			c.untimed = ops[c.end].at - since + near
		}
	}
}
