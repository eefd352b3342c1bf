package replay

import "slices"

// A simulation goes through the ops of a program once for each question, so that they are put together for that: all lists in one
// array, each op in half of a cache line, without the ops that decide nothing.

// An instruction is an op as a simulation has it.
type instruction struct {
	d       int64
	arg     int32 // also of opRow its number, of opAgain where the list goes on, of opOpen and opClose the number of the span, and of opEnd the object that is served, none if there is none
	late    int32
	segment int32
	// ref is, of what is done once, its number; of a send, which element it answers; of opClose, the progress point; of opOut,
	// how late its timer was, ns; of opArrive, its arrival, and of opUse and opFill, the
	// number of the load, from 1.
	ref  int32
	set  uint16
	kind opKind
	// As those of an op; head is drops of a send.
	head, tries, row, once, never bool
}

// answers reports whether it sends what answers an element.
func (o *instruction) answers() bool { return o.kind == opSend && !o.once && o.ref > 0 }

// The instructions that are not ops.
const (
	opRunOn  = opServe + 1 + iota // opRun, and the next one is, too
	opRow                         // several of opRun, see computing.go
	opRowOn                       // opRow, and the next one computes, too
	opArrive                      // opOut that ends at a time
	opAgain                       // the list begins anew
	opOver                        // here it would, which ends the replay
	opEnd                         // the list is over
	opBegin                       // work per time arg begins, see periodic_work.go
	opDone                        // it ends
	opHold                        // wait outside for what slow-downs hold goroutines for
)

// An executable is a program as instructions.
type executable struct {
	code     []instruction
	entries  []entry // by list
	behind   []int32 // by segment: where its work begins
	answers  []int32 // by segment: the send that answers it, none if there is none
	ends     []int32 // by choice: what ended it
	rounds   []int32 // by choice: where it is over what the list does again and again; 0 where it does not
	likeOf   []int32 // by choice: where in likes the choices are that ended as it may: for each case, and for a timer
	likes    [][]int32
	spans    []int32   // the numbers of the spans that visit progress points, 0 for others
	visiting int32     // how many numbers there are, with 0
	arrivals []arrival // of opArrive
	fillings []filling // of stores
	rows     rows
}

// An entry is where a list begins.
type entry struct {
	at       int32 // none if there is nothing to do
	once     bool  // it comes back to something, so that it is not started again
	gathered bool
}

// An arrival is when something from outside comes, since the window's beginning, and how much later the next time round.
type arrival struct{ at, lap int64 }

// A compiler makes an executable.
type compiler struct {
	p     *program
	x     *executable
	first []int   // by list: its first op among all
	at    []int32 // by op: its instruction, or that of the next one which is left
	entry []bool  // by op: a runner may go on there
	alone bool    // the next op that computes is not one instruction with the one before
}

// compile returns the program for simulations. Its ops must not change any more.
func (p *program) compile() *executable {
	c := compiler{p: p, x: &executable{entries: make([]entry, len(p.lists)), spans: make([]int32, len(p.rec.spans)), visiting: 1}, first: make([]int, len(p.lists))}
	n := 0
	for i := range p.lists {
		c.first[i] = n
		n += len(p.lists[i].ops) + 1
	}
	c.at, c.entry = make([]int32, n), make([]bool, n)
	c.enter()
	c.x.code = make([]instruction, 0, c.left())
	for i := range p.lists {
		p.rec.rests()
		c.list(i)
	}
	for k := range c.x.code {
		if k > 0 && c.x.code[k].computes() && c.x.code[k-1].computes() {
			c.x.code[k-1].kind = on[c.x.code[k-1].kind]
		}
	}
	c.x.behind, c.x.answers, c.x.ends = make([]int32, len(p.segments)), make([]int32, len(p.segments)), make([]int32, len(p.choices))
	for i, s := range p.segments {
		c.x.answers[i] = none
		if i == 0 {
			continue
		}
		c.x.behind[i] = c.of(place{s.list, s.op + 1})
		if a := p.answers[i]; a.list >= 0 {
			c.x.answers[i] = c.of(a)
		}
	}
	for _, f := range c.p.fillings {
		c.x.fillings = append(c.x.fillings, filling{f.list, c.of(place{f.list, f.use}), c.of(place{f.list, f.fill})})
	}
	c.x.likeOf, c.x.rounds = make([]int32, len(p.choices)), make([]int32, len(p.choices))
	for i := range p.choices {
		c.x.ends[i] = c.of(place{p.choices[i].list, p.choices[i].end})
		c.x.likeOf[i] = int32(len(c.x.likes))
		if !c.chooses(i) {
			continue
		}
		for _, object := range append(slices.Clip(p.choices[i].cases), none) {
			c.x.likes = append(c.x.likes, p.examples(int32(i), object))
		}
		if l := &p.lists[p.choices[i].list]; p.statements[p.choices[i].statement].decides && p.choices[i].end < l.to {
			at := c.of(place{p.choices[i].list, l.roundEnds(p.choices[i].end) + 1})
			c.x.rounds[i] = at
			switch last := &c.x.code[at-1]; last.kind { // a runner may go on elsewhere there
			case opRunOn:
				last.kind = opRun
			case opRowOn:
				last.kind = opRow
			}
		}
	}
	return c.x
}

// computes reports whether it is an op that computes, or a row of them.
func (o *instruction) computes() bool { return o.kind == opRun || o.kind == opRow }

// on has the same where the next instruction computes, too.
var on = map[opKind]opKind{opRun: opRunOn, opRow: opRowOn}

// enter notes where runners may go on, other than behind what they did last.
func (c *compiler) enter() {
	at := func(x place) { c.entry[c.first[x.list]+int(x.op)] = true }
	for i := range c.p.lists {
		if l := &c.p.lists[i]; l.to > 0 {
			at(place{int32(i), l.from})
		}
	}
	for i, s := range c.p.segments {
		if i == 0 {
			continue
		}
		at(place{s.list, s.op + 1})
		if a := c.p.answers[i]; a.list >= 0 {
			at(a)
		}
	}
	for _, f := range c.p.fillings {
		at(place{f.list, f.use})
		at(place{f.list, f.fill + 1})
	}
	for i := range c.p.choices {
		x := &c.p.choices[i]
		at(place{x.list, x.end})
		if l := &c.p.lists[x.list]; c.chooses(i) && c.p.statements[x.statement].decides && x.end < l.to {
			at(place{x.list, l.roundEnds(x.end) + 1})
		}
	}
}

// chooses reports whether a choice is made in a simulation.
func (c *compiler) chooses(i int) bool {
	x := &c.p.choices[i]
	return c.p.lists[x.list].ops[x.op].arg == int32(i)
}

func (c *compiler) of(at place) int32 { return c.at[c.first[at.list]+int(at.op)] }

// decides reports whether an op does anything in a simulation.
func (c *compiler) decides(o *op) bool {
	switch o.kind {
	case opRun:
		return o.d > 0
	case opOpen, opClose:
		_, held := c.p.holdBehind(o)
		return held || c.p.pointOf[o.arg] >= 0
	case opChoose:
		return o.arg >= 0
	case opAwait, opSignal: // the waiter has a token, or something that decides anew
		return false
	}
	return true
}

// left returns how many ops decide something, and the ends of lists, and makes room for the rows of ops that compute.
func (c *compiler) left() (n int) {
	stints := make([]int, len(c.p.sets))
	for i := range c.p.lists {
		ops := c.p.lists[i].ops
		alone := true
		for k := range ops {
			alone = alone || c.entry[c.first[i]+k]
			o := &ops[k]
			if !c.decides(o) {
				continue
			}
			if o.kind == opRun {
				stints[o.set]++
			}
			if alone || o.kind != opRun {
				alone = o.kind != opRun
				n++
			}
		}
		n += 2
	}
	c.x.rows.stints = make([][]stint, len(stints))
	for set, n := range stints {
		c.x.rows.stints[set] = make([]stint, 0, n)
	}
	return n
}

func (c *compiler) emit(x instruction) { c.x.code = append(c.x.code, x) }

func (c *compiler) list(i int) {
	l := &c.p.lists[i]
	c.x.entries[i] = entry{none, l.to > 0 || l.serves >= 0, l.gathered}
	if len(l.ops) == 0 {
		return
	}
	at := c.at[c.first[i]:]
	c.x.entries[i].at = int32(len(c.x.code))
	duties := c.p.marks[int32(i)]
	c.alone = true
	for k := range l.ops {
		c.alone = c.alone || c.entry[c.first[i]+k]
		at[k] = int32(len(c.x.code))
		switch {
		case l.to == 0 || k < int(l.to):
		case k == int(l.to):
			c.turn(l, at[l.from], int32(i))
		case l.serves >= 0 && l.ops[k-1].kind == opReceive: // work begins here
			c.over(l)
		}
		duties = c.marks(duties, k, false)
		c.op(l, &l.ops[k])
		duties = c.marks(duties, k, true)
	}
	at[len(l.ops)] = int32(len(c.x.code))
	switch {
	case l.to > 0 && int(l.to) == len(l.ops):
		c.turn(l, at[l.from], int32(i))
	case l.to > 0:
		c.over(l)
	}
	c.emit(instruction{kind: opEnd, arg: l.serves, ref: l.station})
}

// span returns the number of a span that visits a progress point.
func (c *compiler) span(i int32) int32 {
	if c.x.spans[i] == 0 {
		c.x.spans[i] = c.x.visiting
		c.x.visiting++
	}
	return c.x.spans[i]
}

// turn ends what a list does again and again. What its goroutine does next is up to the next element if it serves; else it begins anew,
// and other lists may still answer with what stands behind.
func (c *compiler) turn(l *list, from, number int32) {
	c.over(l)
	if l.serves < 0 {
		c.emit(instruction{kind: opAgain, arg: from, ref: number})
	}
}

// over ends the replay if a list does that here.
func (c *compiler) over(l *list) {
	if l.visits && c.p.travelling {
		c.emit(instruction{kind: opOver})
	}
}

// op adds an op, if it decides something.
func (c *compiler) op(l *list, o *op) {
	if !c.decides(o) {
		return
	}
	if h, held := c.p.holdBehind(o); held {
		defer c.hold(h)
		if c.p.pointOf[o.arg] < 0 {
			return
		}
	}
	if o.kind == opRun && !c.alone {
		if last := &c.x.code[len(c.x.code)-1]; last.computes() {
			c.x.rows.join(last, o)
			return
		}
	}
	c.alone = false
	x := instruction{
		d: o.d, arg: o.arg, late: o.late, segment: o.segment, ref: o.answers, set: o.set, kind: o.kind,
		head: o.head || o.drops, tries: o.tries, row: o.row, once: o.once, never: o.never,
	}
	switch {
	case o.kind == opOffer:
		x.kind, x.tries, x.head = opSend, true, true
	case o.kind == opReceive && o.head:
		x.ref = l.station
	case o.kind == opUse, o.kind == opFill, o.kind == opTake:
		x.ref = o.nth
	case o.once: // which answers nothing, see reply
		x.ref = o.nth
	case o.kind == opOpen:
		x.arg = c.span(o.arg)
	case o.kind == opClose:
		x.arg, x.ref = c.span(o.arg), c.p.pointOf[o.arg]
	case o.kind == opOut && o.arrives:
		x.kind, x.ref = opArrive, int32(len(c.x.arrivals))
		a := arrival{at: o.at - c.p.rec.Start}
		if l.to > 0 {
			a.lap = l.ops[l.to-1].at - l.ops[l.from-1].at
		}
		c.x.arrivals = append(c.x.arrivals, a)
	case o.timed():
		x.ref = int32(min(c.p.tardy, o.d))
	}
	c.emit(x)
}
