package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Adaptive batching (group commit): a goroutine takes whatever has come, works on it and answers
// all. Time decides the size of a batch: the sooner it is done, the fewer have come meanwhile.
// Where its rounds in the recording are so, they are decided anew.
//
//	client A   ask |~~~~~~~~~ wait ~~~~~~~~~|
//	client B          ask |~~~~~~~~~~~~~~~~ wait ~~~~~~~~~~~~~~~~|
//	client C               ask |~~~~~~~~~~~ wait ~~~~~~~~~~~~~~~~|
//	batcher         |take A|==== commit ====|take B, C|= commit =|
//	                r.start                 r.start
//
// Kept as recorded, a commit that takes half as long would still be for B and C together, and wait
// for C. In truth B is then alone in its batch, and there are more commits.
//
// The rule: a batch has the goroutines that wait when it begins, first come first served, up to a
// limit, and the batcher is idle only while none waits. The order is that of a channel:
// runtime/chan.go keeps buffered elements and waiting senders in the order in which they came. It
// is taken if that is true of 95 % of the requests (hidden.Fairness), and how long a round takes
// can be foretold from its size (batch_cost.go).
//
// When it is wrong: a batcher that waits for more to come (batch by size or timer), serves only
// some kinds of requests at a time, or shares its queue with another one, does not fit. Its batches
// stay as recorded, and answers are bounded as of any kept order.
//
// TestBatches holds it for rounds with and without a limit, for idle batchers and for known channel
// operations, against a program that is simulated with the true rule; so do workloads committed and
// flushed of integration/accuracy.

const (
	// taking is by how much the beginning of a wait for a batch and the beginning of its work may
	// be off, ns: a request is sent before the wait for its answer begins, and more are taken
	// behind the first one. Requests this close to the beginning may be in the batch or in the next
	// one. Larger, and with short rounds anything would agree; smaller, and requests that come as
	// the work begins would contradict.
	taking = 100_000
)

// A lot is a batch.
type lot struct {
	answers []model.Handover // in the order in which they were given
	idle    []int            // ops: waits for requests, before the work
	start   int64            // when the work began, ns; 0 of the first round
}

// A batcher answers all goroutines that wait at one place.
type batcher struct {
	list    int32
	waits   map[int32]bool // lists that wait for it
	rounds  []lot          // in order of time
	limit   int32          // of a batch, or model.Unlimited
	channel int32          // that it takes requests from, none where that is not recorded
	taken   [][]int        // ops, by round: what it takes from there; empty without a channel
	model.Growing
}

// Batches puts the rules of batchers, and of what timers call, in the place of waits for them. It
// comes before dead wake-ups are taken off the lists: an answer may have let a receive go on that
// has become an operation on a channel, and its wake-up shows which goroutine gave it.
func Batches(b *model.Builder) {
	edits := Edits{}
	all := answerings(b.P)
	if b.P.Rec.Uses(ruleBatches) {
		for _, x := range findBatchers(b.P, all) {
			takeWhatCame(b, x, edits)
		}
	}
	if b.P.Rec.Uses(ruleAfterFunc) {
		gatherings(b, all, edits)
	}
	edits.Apply(b.P)
}

// findBatchers returns the goroutines whose rounds follow the rule. All is what answerings returns.
func findBatchers(p *model.Program, all []model.Handover) []*batcher {
	of := UsedAt(p)
	type end struct{ site, list int32 }
	waits := map[end]int{} // how many each goroutine has there
	at := func(i int32) int32 { return of[p.SiteOf(all[i].Waiter)] }
	for i := range all {
		waits[end{at(int32(i)), all[i].Waiter.List}]++
	}
	// A batcher is a goroutine that ends waits at one place of the code: a client comes there each
	// time, and one of two places is another kind of request.
	var found []*batcher
	for _, group := range model.Grouped(model.Numbers(len(all)), func(i int32) end { return end{at(i), all[i].Waker.List} }) {
		site := at(group[0])
		x := &batcher{list: all[group[0]].Waker.List, waits: map[int32]bool{}, channel: trace.None}
		answers := make([]model.Handover, len(group))
		for k, i := range group {
			answers[k] = all[i]
			x.waits[all[i].Waiter.List] = true
		}
		// Of clients, all waits there must be ended by it: with two batchers at one queue, which
		// one takes a request is not decided by this one's rounds.
		others := -len(group) // waits there that another goroutine ended
		for l := range x.waits {
			others += waits[end{site, l}]
		}
		if len(group) < hidden.LeastHandovers || len(x.waits) < 2 || x.waits[x.list] || others > 0 {
			continue
		}
		if !x.read(p, answers) || !x.takes(p) || !x.follows() || !grow(&x.Growing, p, x.tasks(p)) {
			continue
		}
		found = append(found, x)
	}
	return found
}

// answerings returns the waits for other goroutines by channels, in the order in which they ended.
// It clears Answers of receives: from here on the field has another meaning, see model.Op.
func answerings(p *model.Program) []model.Handover {
	nowhere := model.Place{List: -1, Op: -1}
	// By token. A stock trace has a wait, one with known operations a receive that remembers the
	// token that it waited for.
	all := slices.Repeat([]model.Handover{{Waiter: nowhere, Waker: nowhere}}, int(p.Tokens))
	for at, o := range p.All() {
		switch {
		case o.Kind == model.OpWait && (o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect):
			x := &all[o.Arg]
			x.Waiter, x.From, x.At = at, o.At-o.D, o.At
		case o.Kind == model.OpReceive && o.Answers > 0:
			x := &all[o.Answers-1]
			x.Waiter, x.From, x.At = at, o.D, o.At
			o.Answers = 0
		case o.Kind == model.OpWake:
			all[o.Arg].Waker = at
		}
	}
	all = slices.DeleteFunc(all, func(a model.Handover) bool {
		return a.Waiter == nowhere || a.Waker == nowhere || p.SiteOf(a.Waiter) == 0
	})
	slices.SortFunc(all, func(a, b model.Handover) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Waiter.List, b.Waiter.List), cmp.Compare(a.Waiter.Op, b.Waiter.Op))
	})
	return all
}

// read finds the rounds, and reports whether some answer several: 30 rounds at least (LeastRounds),
// of which a tenth (model.LeastBatches) has two answers or more. It sorts answers by the ops that
// gave them.
func (x *batcher) read(p *model.Program, answers []model.Handover) bool {
	slices.SortFunc(answers, func(a, b model.Handover) int { return cmp.Compare(a.Waker.Op, b.Waker.Op) })
	ops := p.Lists[x.list].Ops
	several, more := 0, 0
	for i, a := range answers {
		// Answers without work in between are of one batch.
		if i > 0 && !Worked(ops[answers[i-1].Waker.Op+1:a.Waker.Op]) {
			r := &x.rounds[len(x.rounds)-1]
			if r.answers = append(r.answers, a); len(r.answers) == 2 {
				several++
			}
			continue
		}
		r := lot{answers: []model.Handover{a}}
		// The work began with the last thing that the batcher waited for, or else right behind the
		// answers before. When the first round of the window did is not known.
		if i > 0 {
			r.start = ops[answers[i-1].Waker.Op].At
			for k := int(answers[i-1].Waker.Op) + 1; k < int(a.Waker.Op); k++ {
				if o := &ops[k]; o.Kind == model.OpWait && (o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect) {
					r.idle, r.start = append(r.idle, k), o.At
				}
			}
		}
		if len(r.idle) > 1 { // it waits for more to come
			more++
		}
		x.rounds = append(x.rounds, r)
	}
	return len(x.rounds) >= LeastRounds && float64(more) <= (1-hidden.Fairness)*float64(len(x.rounds)) && float64(several) >= model.LeastBatches*float64(len(x.rounds))
}

// Worked reports whether these are more than what is between the answers of one batch: model.AtOnce
// of computing at most, and what takes no time. Any wait or lock is work.
func Worked(ops []model.Op) bool {
	took := int64(0)
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case model.OpRun:
			if took += o.D; took > model.AtOnce {
				return true
			}
		case model.OpWake, model.OpOpen, model.OpClose, model.OpVisit, model.OpSignal, model.OpSend:
		default:
			return true
		}
	}
	return false
}

// takes finds the channel that requests come by where the recording has that, and reports false if
// it serves others, too. It is the one of which a round takes as many elements as it gives answers.
func (x *batcher) takes(p *model.Program) bool {
	ops := p.Lists[x.list].Ops
	received := make([]map[int32][]int, len(x.rounds)) // ops, by round and channel
	as := map[int32]int{}                              // rounds with as many elements as answers, by channel
	for i := 1; i < len(x.rounds); i++ {
		before, now := x.rounds[i-1].answers, x.rounds[i].answers
		received[i] = map[int32][]int{}
		for k := int(before[len(before)-1].Waker.Op) + 1; k < int(now[0].Waker.Op); k++ {
			if ops[k].Kind == model.OpReceive {
				received[i][ops[k].Arg] = append(received[i][ops[k].Arg], k)
			}
		}
		for channel, all := range received[i] {
			if len(all) == len(now) {
				as[channel]++
			}
		}
	}
	// The lowest of several: the order of the map must not decide.
	for channel, n := range as {
		if float64(n) >= hidden.Fairness*float64(len(x.rounds)-1) && (x.channel == trace.None || channel < x.channel) {
			x.channel = channel
		}
	}
	// Its receives show exactly when a round began: with the last of them. A receive that waited
	// has a site, and the batcher was idle.
	x.taken = make([][]int, len(x.rounds))
	if x.channel == trace.None {
		return true
	}
	for i := 1; i < len(x.rounds); i++ {
		x.taken[i] = received[i][x.channel]
		if n := len(x.taken[i]); n > 0 {
			x.rounds[i].start = ops[x.taken[i][n-1]].At
			if first := x.taken[i][0]; ops[first].Site != 0 { // it had to wait
				x.rounds[i].idle = []int{first}
			}
		}
	}
	// All operations on the channel are going to be dropped, so that it must have no other use; and
	// a select statement of the batcher may have come to another channel.
	for at, o := range p.All() {
		if o.Arg == x.channel && (o.Kind == model.OpReceive && at.List != x.list || o.Kind == model.OpSend && !x.waits[at.List]) || o.Kind == model.OpChoose && at.List == x.list {
			return false
		}
	}
	return true
}

// follows reports whether each batch is of the goroutines that waited when it began, first come
// first served, and finds how many these are at most: no limit, or else the size of the largest
// batch. A limit that was never reached stays unknown, and batches that are larger in the replay
// have none.
func (x *batcher) follows() bool {
	var all []model.Handover
	largest := 0
	for _, r := range x.rounds {
		all = append(all, r.answers...)
		largest = max(largest, len(r.answers))
	}
	slices.SortFunc(all, func(a, b model.Handover) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.At, b.At)) })
	for _, x.limit = range []int32{model.Unlimited, int32(largest)} {
		if x.agrees(all) {
			return true
		}
	}
	return false
}

// agrees reports whether rounds are as the rule has them, with a limit, of all answers in the order
// in which the waits began. It takes rounds times waiting goroutines times the size of a batch.
//
// With limit 2 and A, B, C waiting in this order when a round begins: {A, B} is 2 right. {A, C} is
// 1 right and 2 wrong, B that was due and C that was not. {A} is 1 right and 1 wrong.
func (x *batcher) agrees(all []model.Handover) bool {
	over := map[model.Place]bool{}
	var waiting []model.Handover
	good, bad := 0, 0
	for i, r := range x.rounds {
		// In the queue when this round begins, give or take what cannot be distinguished. When the
		// first round began is not known: it is not judged, and none of its goroutines gets into
		// the queue.
		for ; i > 0 && len(all) > 0 && all[0].From <= r.start+taking; all = all[1:] {
			if !over[all[0].Waiter] {
				waiting = append(waiting, all[0])
			}
		}
		for _, a := range r.answers {
			over[a.Waiter] = true
		}
		if i == 0 {
			continue
		}
		sure := 0 // of the ones that wait, in order: how many had to be in this batch
		for n, a := range waiting {
			// Due is what surely was there, and has its turn below the limit.
			mine := slices.ContainsFunc(r.answers, func(b model.Handover) bool { return b.Waiter == a.Waiter })
			due := a.From <= r.start-taking && n < int(x.limit)
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
			if a.From > r.start+taking {
				bad++
			}
		}
		if len(r.idle) > 0 && sure > 1 { // it waits while others do
			bad += sure
		}
		waiting = slices.DeleteFunc(waiting, func(a model.Handover) bool { return over[a.Waiter] })
	}
	return good > 0 && float64(good) >= hidden.Fairness*float64(good+bad)
}

// tasks returns the work of its rounds, but for the first one, whose beginning is not known: the
// ops from when it began to the first answer.
func (x *batcher) tasks(p *model.Program) []task {
	ops := p.Lists[x.list].Ops
	all := make([]task, len(x.rounds)-1)
	for i := range all {
		r := &x.rounds[i+1]
		to := r.answers[0].Waker.Op
		from := to
		for from > 0 && ops[from-1].At > r.start {
			from--
		}
		all[i] = task{ops[from:to], r.answers[0].At - r.start, len(r.answers)}
	}
	return all
}

// takeWhatCame has a batcher take all goroutines that wait when a round begins, and answer them
// when it is over. A client's wait becomes OpAsk. The batcher's idle wait, or the moment behind its
// last answer, becomes OpTake, which waits if there is nothing to take, and its first answer
// OpAnswer, which lets all of the batch go on; the other wake-ups are dead.
func takeWhatCame(b *model.Builder, x *batcher, edits Edits) {
	p := b.P
	ops := p.Lists[x.list].Ops
	site := p.SiteOf(x.rounds[0].answers[0].Waiter)
	object := b.NewObject(model.ObjectInfo{Kind: model.ObjectBatch, Capacity: x.limit, Site: site, Growing: x.Growing})
	if !p.Rec.Told && x.channel == trace.None {
		p.Inferred = true
	}
	mine := edits.Of(x.list)
	// A list may begin anew where it did before its first answer: OpAnswer has that op's Free and
	// Loose. From take to answer it must not, since it has a batch then (holdOn).
	for i, r := range x.rounds {
		first := r.answers[0].Waker.Op
		mine.before[int(first)] = append(mine.before[int(first)], model.Op{Kind: model.OpAnswer, Arg: object, At: ops[first].At, Late: -1, Free: ops[first].Free, Loose: ops[first].Loose})
		for _, a := range r.answers {
			asks(b, a, object, edits)
		}
		if i == 0 {
			continue
		}
		// D of OpTake is the size in the recording: how much longer a batch of the replay takes is
		// in proportion to it (Growth.Factor).
		before := x.rounds[i-1].answers
		last := before[len(before)-1].Waker.Op
		take := model.Op{Kind: model.OpTake, Arg: object, D: int64(len(r.answers)), At: ops[last].At, Late: -1}
		at := int(last)
		for _, k := range r.idle {
			o := &ops[k]
			take.At, take.Late, take.Site = o.At, o.Late, o.Site
			at = k
			mine.drop[k] = true
			if o.Kind == model.OpWait {
				b.Dead[o.Arg] = true
			}
		}
		mine.After[at] = append(mine.After[at], take)
		for _, k := range x.taken[i] {
			mine.drop[k] = true
		}
		holdOn(b, x.list, at+1, int(first)-1)
	}
	if x.channel == trace.None {
		return
	}
	for at, o := range p.All() { // what is taken is not sent
		if o.Arg == x.channel && (o.Kind == model.OpSend || o.Kind == model.OpReceive) {
			edits.Of(at.List).drop[int(at.Op)] = true
		}
	}
}

// asks has a goroutine ask for the answer of a batcher in place of its wait, and leaves out what
// ended that: the token, or the send of the answer that is behind the wake-up.
func asks(b *model.Builder, a model.Handover, object int32, edits Edits) {
	o := b.P.Op(a.Waiter)
	e := edits.Of(a.Waiter.List)
	e.drop[int(a.Waiter.Op)] = true
	e.before[int(a.Waiter.Op)] = append(e.before[int(a.Waiter.Op)], model.Op{Kind: model.OpAsk, Arg: object, At: o.At, Late: o.Late, Site: o.Site, Set: o.Set})
	if o.Kind == model.OpWait {
		b.Dead[o.Arg] = true
	} else if n := sendBehind(b.P.Lists[a.Waker.List].Ops[a.Waker.Op:], o.Arg); n >= 0 {
		edits.Of(a.Waker.List).drop[int(a.Waker.Op)+n] = true
	}
}

// sendBehind returns where the send is that let a receiver go on, -1 where that is not recorded.
// The runtime makes the receiver ready within the send, whose mark comes when it is done.
func sendBehind(ops []model.Op, channel int32) int {
	return slices.IndexFunc(ops[:min(len(ops), Within)], func(o model.Op) bool { return o.Kind == model.OpSend && o.Arg == channel })
}

// Within is how far back from a span its request is looked for, in ops, and how far behind a
// wake-up its send. Larger, and another request's could be found; smaller, and code that does much
// in between is not followed.
const Within = 60
