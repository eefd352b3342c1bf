package replay

import (
	"cmp"
	"slices"
)

// A goroutine that takes whatever has come, works on it and answers all (adaptive batching, group commit) has batches whose size
// time decides: the sooner it is done, the fewer have come meanwhile. Where its rounds in the recording are so, they are decided anew.

const (
	// taking is by how much the beginning of a wait for a batch and the beginning of its work may be off, ns: a request is sent before
	// the wait for its answer begins, and more are taken behind the first one.
	taking = 100_000
)

// An answering is a wait that a batcher ended.
type answering struct {
	wait, wake place
	from, at   int64
}

// A lot is a batch.
type lot struct {
	answers []answering // in the order in which they were given
	idle    []int       // ops: waits for requests
	start   int64       // when the work began
}

// A batcher answers all goroutines that wait at one place.
type batcher struct {
	list    int32
	waits   map[int32]bool // lists that wait for it
	rounds  []lot
	limit   int32   // of a batch
	channel int32   // that it takes requests from, none where that is not recorded
	taken   [][]int // ops, by round: what it takes from there
	growing
}

// batches puts the rule of batchers in the place of waits for them.
func (b *builder) batches() {
	edits := map[int32]*edit{}
	all := b.p.answerings()
	for _, x := range b.p.findBatchers(all) {
		b.takeWhatCame(x, edits)
	}
	b.gatherings(all, edits)
	for l, e := range edits {
		e.apply(&b.p.lists[l])
	}
}

// findBatchers returns the goroutines whose rounds follow the rule.
func (p *program) findBatchers(all []answering) []*batcher {
	of := p.usedAt()
	type end struct{ site, list int32 }
	waits := map[end]int{} // how many each goroutine has there
	at := func(i int32) int32 { return of[p.siteOf(all[i].wait)] }
	for i := range all {
		waits[end{at(int32(i)), all[i].wait.list}]++
	}
	var found []*batcher
	for _, group := range grouped(len(all), func(i int32) end { return end{at(i), all[i].wake.list} }) {
		site := at(group[0])
		x := &batcher{list: all[group[0]].wake.list, waits: map[int32]bool{}, channel: none}
		answers := make([]answering, len(group))
		for k, i := range group {
			answers[k] = all[i]
			x.waits[all[i].wait.list] = true
		}
		others := -len(group) // waits there that another goroutine ended
		for l := range x.waits {
			others += waits[end{site, l}]
		}
		if len(group) < leastHandovers || len(x.waits) < 2 || x.waits[x.list] || others > 0 {
			continue
		}
		if !x.read(p, answers) || !x.takes(p) || !x.follows() {
			continue
		}
		if !x.grow(p, x.tasks(p)) {
			p.uneven = append(p.uneven, site)
			continue
		}
		found = append(found, x)
		p.byRule = append(p.byRule, site)
	}
	return found
}

// answerings returns the waits for other goroutines by channels, in the order in which they ended.
func (p *program) answerings() []answering {
	nowhere := place{-1, -1}
	all := slices.Repeat([]answering{{wait: nowhere, wake: nowhere}}, int(p.tokens))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			at := place{int32(l), int32(k)}
			switch o := p.op(at); {
			case o.kind == opWait && (o.reason == waitReceive || o.reason == waitSelect):
				x := &all[o.arg]
				x.wait, x.from, x.at = at, o.at-o.d, o.at
			case o.kind == opReceive && o.answers > 0:
				x := &all[o.answers-1]
				x.wait, x.from, x.at = at, o.d, o.at
				o.answers = 0
			case o.kind == opWake:
				all[o.arg].wake = at
			}
		}
	}
	all = slices.DeleteFunc(all, func(a answering) bool { return a.wait == nowhere || a.wake == nowhere || p.siteOf(a.wait) == 0 })
	slices.SortFunc(all, func(a, b answering) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.wait.list, b.wait.list), cmp.Compare(a.wait.op, b.wait.op))
	})
	return all
}

// read finds the rounds, and reports whether some answer several.
func (x *batcher) read(p *program, answers []answering) bool {
	slices.SortFunc(answers, func(a, b answering) int { return cmp.Compare(a.wake.op, b.wake.op) })
	ops := p.lists[x.list].ops
	several, more := 0, 0
	for i, a := range answers {
		if i > 0 && !worked(ops[answers[i-1].wake.op+1:a.wake.op]) {
			r := &x.rounds[len(x.rounds)-1]
			if r.answers = append(r.answers, a); len(r.answers) == 2 {
				several++
			}
			continue
		}
		r := lot{answers: []answering{a}}
		if i > 0 {
			r.start = ops[answers[i-1].wake.op].at
			for k := int(answers[i-1].wake.op) + 1; k < int(a.wake.op); k++ {
				if o := &ops[k]; o.kind == opWait && (o.reason == waitReceive || o.reason == waitSelect) {
					r.idle, r.start = append(r.idle, k), o.at
				}
			}
		}
		if len(r.idle) > 1 { // it waits for more to come
			more++
		}
		x.rounds = append(x.rounds, r)
	}
	return len(x.rounds) >= leastRounds && float64(more) <= (1-fairness)*float64(len(x.rounds)) && float64(several) >= leastBatches*float64(len(x.rounds))
}

// worked reports whether these are more than what is between the answers of one batch.
func worked(ops []op) bool {
	took := int64(0)
	for i := range ops {
		switch o := &ops[i]; o.kind {
		case opRun:
			if took += o.d; took > atOnce {
				return true
			}
		case opWake, opOpen, opClose, opVisit, opSignal, opSend:
		default:
			return true
		}
	}
	return false
}

// takes finds the channel that requests come by where the recording has that, and reports false if it serves others, too.
func (x *batcher) takes(p *program) bool {
	ops := p.lists[x.list].ops
	between := func(i int) (from, to int) {
		before := x.rounds[i-1].answers
		return int(before[len(before)-1].wake.op) + 1, int(x.rounds[i].answers[0].wake.op)
	}
	as := map[int32]int{} // rounds with as many elements as answers, by channel
	for i := 1; i < len(x.rounds); i++ {
		taken := map[int32]int{}
		for from, to := between(i); from < to; from++ {
			if ops[from].kind == opReceive {
				taken[ops[from].arg]++
			}
		}
		for channel, n := range taken {
			if n == len(x.rounds[i].answers) {
				as[channel]++
			}
		}
	}
	for channel, n := range as {
		if float64(n) >= fairness*float64(len(x.rounds)-1) && (x.channel == none || channel < x.channel) {
			x.channel = channel
		}
	}
	x.taken = make([][]int, len(x.rounds))
	if x.channel == none {
		return true
	}
	for i := 1; i < len(x.rounds); i++ {
		for from, to := between(i); from < to; from++ {
			if o := &ops[from]; o.kind == opReceive && o.arg == x.channel {
				x.taken[i] = append(x.taken[i], from)
			}
		}
		if n := len(x.taken[i]); n > 0 {
			x.rounds[i].start = ops[x.taken[i][n-1]].at
			if first := x.taken[i][0]; ops[first].site != 0 { // it had to wait
				x.rounds[i].idle = []int{first}
			}
		}
	}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			if o.arg == x.channel && (o.kind == opReceive && int32(l) != x.list || o.kind == opSend && !x.waits[int32(l)]) || o.kind == opChoose && int32(l) == x.list {
				return false
			}
		}
	}
	return true
}

// follows reports whether each batch is of those who waited when it began, first come first served, and finds how many these are at most.
func (x *batcher) follows() bool {
	var all []answering
	largest := 0
	for _, r := range x.rounds {
		all = append(all, r.answers...)
		largest = max(largest, len(r.answers))
	}
	slices.SortFunc(all, func(a, b answering) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.at, b.at)) })
	for _, x.limit = range []int32{unlimited, int32(largest)} {
		if x.agrees(all) {
			return true
		}
	}
	return false
}

// agrees reports whether rounds are as the rule has them, with a limit, of all answers in the order in which the waits began.
func (x *batcher) agrees(all []answering) bool {
	over := map[place]bool{}
	var waiting []answering
	good, bad := 0, 0
	for i, r := range x.rounds {
		for ; len(all) > 0 && all[0].from <= r.start+taking; all = all[1:] {
			waiting = append(waiting, all[0])
		}
		for _, a := range r.answers {
			over[a.wait] = true
		}
		if i == 0 {
			continue
		}
		sure := 0 // of those who wait, in order
		for n, a := range waiting {
			mine := slices.ContainsFunc(r.answers, func(b answering) bool { return b.wait == a.wait })
			due := a.from <= r.start-taking && n < int(x.limit)
			switch {
			case mine && n < int(x.limit):
				good++
			case due || mine:
				bad++
			}
			if due {
				sure++
			}
		}
		for _, a := range r.answers { // that came when the work had begun
			if a.from > r.start+taking {
				bad++
			}
		}
		if len(r.idle) > 0 && sure > 1 { // it waits while others do
			bad += sure
		}
		waiting = slices.DeleteFunc(waiting, func(a answering) bool { return over[a.wait] })
	}
	return good > 0 && float64(good) >= fairness*float64(good+bad)
}

// tasks returns the work of its rounds.
func (x *batcher) tasks(p *program) []task {
	ops := p.lists[x.list].ops
	all := make([]task, len(x.rounds)-1)
	for i := range all {
		r := &x.rounds[i+1]
		to := r.answers[0].wake.op
		from := to
		for from > 0 && ops[from-1].at > r.start {
			from--
		}
		all[i] = task{ops[from:to], r.answers[0].at - r.start, len(r.answers)}
	}
	return all
}

// takeWhatCame has a batcher take all goroutines that wait when a round begins, and answer them when it is over.
func (b *builder) takeWhatCame(x *batcher, edits map[int32]*edit) {
	p := b.p
	ops := p.lists[x.list].ops
	site := p.siteOf(x.rounds[0].answers[0].wait)
	object := b.newObject(objectInfo{kind: objectBatch, capacity: x.limit, site: site, growing: x.growing})
	if !p.rec.told && x.channel == none {
		p.inferred = true
	}
	mine := editOf(edits, x.list)
	for i, r := range x.rounds {
		first := r.answers[0].wake.op
		mine.before[int(first)] = append(mine.before[int(first)], op{kind: opAnswer, arg: object, at: ops[first].at, late: -1, free: ops[first].free, loose: ops[first].loose})
		for _, a := range r.answers {
			b.asks(a, object, edits)
		}
		if i == 0 {
			continue
		}
		before := x.rounds[i-1].answers
		last := before[len(before)-1].wake.op
		take := op{kind: opTake, arg: object, d: int64(len(r.answers)), at: ops[last].at, late: -1}
		at := int(last)
		for _, k := range r.idle {
			o := &ops[k]
			take.at, take.late, take.site = o.at, o.late, o.site
			at = k
			mine.drop[k] = true
			if o.kind == opWait {
				b.dead[o.arg] = true
			}
		}
		mine.after[at] = append(mine.after[at], take)
		for _, k := range x.taken[i] {
			mine.drop[k] = true
		}
		b.holdOn(x.list, at+1, int(first)-1)
	}
	if x.channel == none {
		return
	}
	for l := range p.lists { // what is taken is not sent
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.arg == x.channel && (o.kind == opSend || o.kind == opReceive) {
				editOf(edits, int32(l)).drop[k] = true
			}
		}
	}
}

// asks has a goroutine ask for the answer of a batcher in place of its wait, and leaves out what ended that.
func (b *builder) asks(a answering, object int32, edits map[int32]*edit) {
	o := b.p.op(a.wait)
	e := editOf(edits, a.wait.list)
	e.drop[int(a.wait.op)] = true
	e.before[int(a.wait.op)] = append(e.before[int(a.wait.op)], op{kind: opAsk, arg: object, at: o.at, late: o.late, site: o.site, set: o.set})
	if o.kind == opWait {
		b.dead[o.arg] = true
	} else if n := sendBehind(b.p.lists[a.wake.list].ops[a.wake.op:], o.arg); n >= 0 {
		editOf(edits, a.wake.list).drop[int(a.wake.op)+n] = true
	}
}

// sendBehind returns where the send is that let a receiver go on, -1 where that is not recorded.
func sendBehind(ops []op, channel int32) int {
	return slices.IndexFunc(ops[:min(len(ops), within)], func(o op) bool { return o.kind == opSend && o.arg == channel })
}

// ask has a runner wait for the answer of a batcher, or of what a timer will call.
func (s *simulation) ask(b *object, i, proc int32, o *instruction) {
	b.queue.push(i)
	if c := s.p.calls[o.arg]; c != nil && b.queue.len() == 1 {
		s.set(b, c, o.set)
	}
	if b.others.len() > 0 {
		by := b.others.pop()
		s.runners[by].retrying = true
		s.ready(by, proc)
	}
}

// takeBatch has a batcher take those who wait, or reports that it must wait for one.
func (s *simulation) takeBatch(b *object, i int32, o *instruction) bool {
	r := &s.runners[i]
	r.retrying = false
	if b.queue.len() == 0 {
		b.others.push(i)
		return false
	}
	batch := o.arg
	if o.ref > 0 { // one of several at a time
		batch = o.ref
	}
	into := s.channel(batch)
	for b.queue.len() > 0 && into.elements.len() < int(b.cap) {
		into.elements.push(b.queue.pop())
	}
	r.batch, r.size = batch+1, int32(o.d)
	return true
}

// answerBatch lets the goroutines of the batch go on.
func (s *simulation) answerBatch(b *object, i, proc int32) {
	s.runners[i].batch = 0
	for b.elements.len() > 0 {
		s.grant(b.elements.pop(), proc)
	}
}
