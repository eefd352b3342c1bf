package sim

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A simulation goes through the ops of a program once for each question, so that they are put
// together for that: all lists in one array, each op in half of a cache line (32 bytes of 64),
// without the ops that decide nothing. A study asks many questions of a window, and compiles each
// program once. What follows from a change alone is in a simulation, see addUp.
//
// A list becomes, where it begins anew behind op From, and its rounds end with op To-1:
//
//	ops           0 .. From-1 | From .. To-1 |             | To .. (answers to elements only)
//	instructions  ..            ..             opAgain From   ..                              opEnd
//
// A list that ends has no opAgain, and a list that serves neither: its goroutine takes the next
// element at opEnd, and elements have their work anywhere in it.

// An instruction is an op as a simulation has it.
type instruction struct {
	d int64 // as of an op: mostly ns, see model.OpKind
	// Arg is as of an op; of opRow the number of the row, of opAgain the instruction where the list
	// goes on, of OpOpen and OpClose the number of the span, of opEnd the object that is served,
	// none if there is none, and of opBegin and opDone the schedule.
	arg     int32
	late    int32 // as of an op, ns or -1
	segment int32 // as of an op
	// Ref is, of what is done once, its number; of a send, which element it answers; of OpClose,
	// the progress point; of OpOut, how late its timer was, ns; of opArrive, its arrival; of
	// opAgain, its list; of OpTake, the object that the batch goes to, and of opEnd and of a
	// receive that serves, the station, 0 for none.
	ref  int32
	set  uint16 // of regions, see Program.Sets
	kind model.OpKind
	// As those of an op; head is drops of a send, joins of opBegin. OpDue tries where a channel has
	// its ticks.
	head, tries, row, once, never bool
}

// answers reports whether it sends what answers an element.
func (o *instruction) answers() bool { return o.kind == model.OpSend && !o.once && o.ref > 0 }

// The instructions that are not ops. They have numbers behind the kinds of ops.
const (
	opRunOn  = model.OpKinds + iota // OpRun, and the next one is, too
	opRow                           // several of OpRun, see computing.go
	opRowOn                         // opRow, and the next one computes, too
	opArrive                        // OpOut that ends at a time
	opAgain                         // the list begins anew
	opOver                          // here it would, which ends the replay
	opEnd                           // the list is over
	opBegin                         // work per time arg begins, see periodic_work.go
	opDone                          // it ends
	opHold                          // wait outside for what slow-downs hold goroutines for
)

// An executable is a program as instructions. Simulations only read it, so that one program may be
// asked any number of questions. Places are indices in code; none is trace.None.
type executable struct {
	code    []instruction
	entries []entry // by list
	behind  []int32 // by segment: where its work begins
	answers []int32 // by segment: the send that answers it, none if there is none
	ends    []int32 // by choice: what ended it
	// Rounds are, by choice, where that is over what the list does again and again; 0 where the
	// choice cannot end elsewhere. Place 0 is no end of a round.
	rounds []int32
	// LikeOf is, by choice, where its examples begin in likes: choices that ended as it may, for
	// each of its cases in order, and then for a timer.
	likeOf   []int32
	likes    [][]int32
	spans    []int32   // the numbers of the spans that visit progress points, 0 for others
	visiting int32     // how many numbers there are, with 0
	arrivals []arrival // of opArrive
	rows     rows
	homes    []int32 // by list: its process, nil where there is only one
	idle     []int32 // by list: its end, where a goroutine that serves takes an element, none without
}

// An entry is where a list begins.
type entry struct {
	at       int32 // none if there is nothing to do
	once     bool  // it comes back to something, so that it is not started again
	gathered bool
}

// An arrival is when something from outside comes, ns since the window's beginning, and how much
// later in each further round of its list.
type arrival struct{ at, lap int64 }

// A compiler makes an executable.
type compiler struct {
	p     *model.Program
	x     *executable
	first []int   // by list: its first op among all
	at    []int32 // by op: its instruction, or that of the next one which is left
	entry []bool  // by op: a runner may go on there
	// Alone means that the next op that computes is not one instruction with the one before:
	// another op is between, or a runner may go on there.
	alone bool
}

// compile returns the program for simulations. Its ops must not change any more. It takes time and
// memory by the ops, and once more by the cases of select statements.
func compile(p *model.Program) *executable {
	c := compiler{p: p, x: &executable{entries: make([]entry, len(p.Lists)), spans: make([]int32, len(p.Rec.Spans)), visiting: 1, homes: p.Rec.Homes(), idle: make([]int32, len(p.Lists))}, first: make([]int, len(p.Lists))}
	// Each list has a place more than ops, for its end.
	n := 0
	for i := range p.Lists {
		c.first[i] = n
		n += len(p.Lists[i].Ops) + 1
	}
	// Entries must be known before ops are joined to rows.
	c.at, c.entry = make([]int32, n), make([]bool, n)
	c.enter()
	c.x.code = make([]instruction, 0, c.left())
	for i := range p.Lists {
		p.Rec.Rests()
		c.list(i)
	}
	// Where another one that computes follows it is done in the same step, see compute. It stays an
	// instruction of its own, as runners come to it from elsewhere.
	for k := range c.x.code {
		if k > 0 && c.x.code[k].computes() && c.x.code[k-1].computes() {
			c.x.code[k-1].kind = on[c.x.code[k-1].kind]
		}
	}
	// Places become instructions. An op that decides nothing has the place of the next one that
	// does.
	c.x.behind, c.x.answers, c.x.ends = make([]int32, len(p.Segments)), make([]int32, len(p.Segments)), make([]int32, len(p.Choices))
	for i, s := range p.Segments {
		c.x.answers[i] = trace.None
		if i == 0 {
			continue
		}
		c.x.behind[i] = c.of(model.Place{List: s.List, Op: s.Op + 1})
		if a := p.Answers[i]; a.List >= 0 {
			c.x.answers[i] = c.of(a)
		}
	}
	c.choices()
	return c.x
}

// choices compiles of each choice what ended it, its examples, and where a runner that goes on
// elsewhere, as behind this choice, comes back to its own list.
func (c *compiler) choices() {
	p := c.p
	c.x.likeOf, c.x.rounds = make([]int32, len(p.Choices)), make([]int32, len(p.Choices))
	for i := range p.Choices {
		c.x.ends[i] = c.of(model.Place{List: p.Choices[i].List, Op: p.Choices[i].End})
		c.x.likeOf[i] = int32(len(c.x.likes))
		if !c.chooses(i) {
			continue
		}
		for _, object := range append(slices.Clip(p.Choices[i].Cases), trace.None) {
			c.x.likes = append(c.x.likes, examples(p, int32(i), object))
		}
		if l := &p.Lists[p.Choices[i].List]; p.Statements[p.Choices[i].Statement].Decides && p.Choices[i].End < l.To {
			at := c.of(model.Place{List: p.Choices[i].List, Op: l.RoundEnds(p.Choices[i].End) + 1})
			c.x.rounds[i] = at
			// A runner may go on elsewhere there, so that the step must end before.
			switch last := &c.x.code[at-1]; last.kind {
			case opRunOn:
				last.kind = model.OpRun
			case opRowOn:
				last.kind = opRow
			}
		}
	}
}

// computes reports whether it is an op that computes, or a row of them.
func (o *instruction) computes() bool { return o.kind == model.OpRun || o.kind == opRow }

// on has the same where the next instruction computes, too.
var on = map[model.OpKind]model.OpKind{model.OpRun: opRunOn, opRow: opRowOn}

// enter notes where runners may go on, other than behind what they did last: ops there begin a row,
// and never continue one. One that is left out here has a runner do what is before that place, too.
// The places are the ones that compile looks up.
func (c *compiler) enter() {
	at := func(x model.Place) { c.entry[c.first[x.List]+int(x.Op)] = true }
	for i := range c.p.Lists {
		if l := &c.p.Lists[i]; l.To > 0 {
			at(model.Place{List: int32(i), Op: l.From})
		}
	}
	for i, s := range c.p.Segments {
		if i == 0 {
			continue
		}
		at(model.Place{List: s.List, Op: s.Op + 1})
		if a := c.p.Answers[i]; a.List >= 0 {
			at(a)
		}
	}
	for i := range c.p.Choices {
		x := &c.p.Choices[i]
		at(model.Place{List: x.List, Op: x.End})
		if l := &c.p.Lists[x.List]; c.chooses(i) && c.p.Statements[x.Statement].Decides && x.End < l.To {
			at(model.Place{List: x.List, Op: l.RoundEnds(x.End) + 1})
		}
	}
}

// chooses reports whether a choice is made in a simulation: package infer has numbered the ops of
// these, and of no others.
func (c *compiler) chooses(i int) bool {
	x := &c.p.Choices[i]
	return c.p.Lists[x.List].Ops[x.Op].Arg == int32(i)
}

// of returns the instruction of an op, or of the end of the list behind the last one. Lists must
// have been compiled.
func (c *compiler) of(at model.Place) int32 { return c.at[c.first[at.List]+int(at.Op)] }

// decides reports whether an op does anything in a simulation. Mostly it does not: of a program
// with many spans only the ones that visit a progress point, or that goroutines are held behind,
// do.
func (c *compiler) decides(o *model.Op) bool {
	switch o.Kind {
	case model.OpRun:
		return o.D > 0
	case model.OpOpen, model.OpClose:
		_, held := c.p.HoldBehind(o)
		return held || c.p.PointOf[o.Arg] >= 0
	case model.OpChoose:
		return o.Arg >= 0
	case model.OpAwait, model.OpSignal: // the waiter has a token, or something that decides anew
		return false
	}
	return true
}

// left returns how many ops decide something, and the ends of lists, and makes room for the rows of
// ops that compute. It only sizes memory: marks and holds may make a few more.
func (c *compiler) left() (n int) {
	stints := make([]int, len(c.p.Sets))
	for i := range c.p.Lists {
		ops := c.p.Lists[i].Ops
		alone := true
		for k := range ops {
			alone = alone || c.entry[c.first[i]+k]
			o := &ops[k]
			if !c.decides(o) {
				continue
			}
			if o.Kind == model.OpRun {
				stints[o.Set]++
			}
			if alone || o.Kind != model.OpRun {
				alone = o.Kind != model.OpRun
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

// list compiles one list: its ops, what is between its rounds, and its end. At each op the place is
// noted first, so that a runner that goes on at op To, the first behind a round, begins anew.
func (c *compiler) list(i int) {
	l := &c.p.Lists[i]
	c.x.entries[i] = entry{trace.None, l.To > 0 || l.Serves >= 0, l.Gathered}
	c.x.idle[i] = trace.None
	if len(l.Ops) == 0 {
		return
	}
	at := c.at[c.first[i]:]
	c.x.entries[i].at = int32(len(c.x.code))
	duties := c.p.Marks[int32(i)]
	c.alone = true
	for k := range l.Ops {
		c.alone = c.alone || c.entry[c.first[i]+k]
		at[k] = int32(len(c.x.code))
		// Behind a round only a server's lists go on, where work on an element from the end of the
		// window begins: there the recording is over, see over.
		switch {
		case l.To == 0 || k < int(l.To):
		case k == int(l.To):
			c.turn(l, at[l.From], int32(i))
		case l.Serves >= 0 && l.Ops[k-1].Kind == model.OpReceive: // work begins here
			c.over(l)
		}
		// Work per time may begin and end with the same op, which is within it.
		duties = c.marks(duties, k, false)
		c.op(l, &l.Ops[k])
		duties = c.marks(duties, k, true)
	}
	at[len(l.Ops)] = int32(len(c.x.code))
	switch {
	case l.To > 0 && int(l.To) == len(l.Ops):
		c.turn(l, at[l.From], int32(i))
	case l.To > 0:
		c.over(l)
	}
	if l.Serves >= 0 {
		c.x.idle[i] = int32(len(c.x.code))
	}
	c.emit(instruction{kind: opEnd, arg: l.Serves, ref: l.Station})
}

// span returns the number of a span that visits a progress point, from 1. Numbers are dense, so
// that a simulation keeps no beginnings of the many other spans.
func (c *compiler) span(i int32) int32 {
	if c.x.spans[i] == 0 {
		c.x.spans[i] = c.x.visiting
		c.x.visiting++
	}
	return c.x.spans[i]
}

// turn ends what a list does again and again. What its goroutine does next is up to the next
// element if it serves; else it begins anew, and other lists may still answer with what stands
// behind.
func (c *compiler) turn(l *model.List, from, number int32) {
	c.over(l)
	if l.Serves < 0 {
		c.emit(instruction{kind: opAgain, arg: from, ref: number})
	}
}

// over ends the replay if a list does that here. Where work travels with requests no list can begin
// anew by itself: the work behind its next elements is not recorded. So the replay is over with the
// first list that has done all of its recording and visits a progress point. It is then somewhat
// shorter than the window, and answers are times between visits, which that does not change.
func (c *compiler) over(l *model.List) {
	if l.Visits && c.p.Travelling {
		c.emit(instruction{kind: opOver})
	}
}

// op adds an op, if it decides something. One that computes right behind another one joins its row.
func (c *compiler) op(l *model.List, o *model.Op) {
	if !c.decides(o) {
		return
	}
	// Behind the end of a span comes what goroutines are held for. The end itself may visit
	// nothing.
	if h, held := c.p.HoldBehind(o); held {
		defer c.hold(h)
		if c.p.PointOf[o.Arg] < 0 {
			return
		}
	}
	if o.Kind == model.OpRun && !c.alone {
		if last := &c.x.code[len(c.x.code)-1]; last.computes() {
			c.x.rows.join(last, o)
			return
		}
	}
	// What ref means depends on the kind; an op has one such meaning at most.
	c.alone = false
	x := instruction{
		d: o.D, arg: o.Arg, late: o.Late, segment: o.Segment, ref: o.Answers, set: o.Set, kind: o.Kind,
		head: o.Head || o.Drops, tries: o.Tries, row: o.Row, once: o.Once, never: o.Never,
	}
	switch {
	case o.Kind == model.OpOffer:
		x.kind, x.tries, x.head = model.OpSend, true, true
	case o.Kind == model.OpReceive && o.Head:
		x.ref = l.Station
	case o.Kind == model.OpTake:
		x.ref = o.Nth
	case o.Once: // which answers nothing, see reply
		x.ref = o.Nth
	case o.Kind == model.OpOpen:
		x.arg = c.span(o.Arg)
	case o.Kind == model.OpClose:
		x.arg, x.ref = c.span(o.Arg), c.p.PointOf[o.Arg]
	case o.Kind == model.OpOut && o.Arrives:
		x.kind, x.ref = opArrive, int32(len(c.x.arrivals))
		a := arrival{at: o.At - c.p.Rec.Start}
		if l.To > 0 {
			a.lap = l.Ops[l.To-1].At - l.Ops[l.From-1].At
		}
		c.x.arrivals = append(c.x.arrivals, a)
	case o.Kind == model.OpDue:
		x.tries = o.Reason != trace.WaitTimer
	case o.Timed():
		x.ref = int32(min(c.p.Tardy, o.D))
	}
	c.emit(x)
}

// hold adds a holdback, as computing and as waiting outside: what the region itself does. Both have
// a set of their own, whose factor is the part of the span's time, 0 in most simulations. Each is
// an instruction alone, as the wait is counted, see Outcome.Held.
func (c *compiler) hold(h model.Holdback) {
	c.emit(instruction{kind: model.OpRun, d: h.Run, set: h.Set, late: -1})
	c.emit(instruction{kind: opHold, d: h.Out, set: h.Set, late: -1})
	c.alone = true
}
