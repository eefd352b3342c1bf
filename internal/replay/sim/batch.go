package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// Adaptive batching (group commit, write combining): one goroutine takes all that wait, works on
// them together and lets them go on together. Time decides how large a batch is: the sooner the
// work is done, the fewer have come meanwhile. So faster work does not bring what it saves for each
// batch: with batches of the recorded sizes the answer is too high. In ms, work of 4, one request
// each ms:
//
//	work of 4   takes at 0, 4, 8: four requests each time
//	work of 2   takes at 0, 2, 4: two requests each time, twice as many batches
//
// Three ops are such a round, on an object that is the batcher. A request asks (OpAsk) and waits in
// its queue. The batcher takes the ones that are there, up to a limit and in order (OpTake), works,
// and answers them (OpAnswer). A timer that the first request sets (time.AfterFunc) is a batcher
// that is started each time. Package cond finds both, in batches.go and afterfunc.go: the rule is
// taken where 19 of 20 requests went along with it. TestBatches and TestCalledLater hold answers
// against programs that are really faster.

// set has a timer call the next one that was recorded: a goroutine of its own, after the delay that
// it had there, or over again behind the last one. A region of the one that sets it which is faster
// has it set a shorter delay.
func (s *Simulation) set(b *object, c *model.Calls, set uint16) {
	n := int(b.count) % len(c.Lists)
	b.count++
	i := s.admit(c.Lists[n])
	s.runners[i].state = away
	s.backIn(i, s.scaled(c.Delays[n], set))
}

// A batch takes the longer the larger it is, as far as its recorded sizes show: a fixed time and a
// time for each request, by least squares (batch_cost.go in package cond). What a round took in the
// recording is scaled to the size that its batch has here:
//
//	took 6 ms for 4 requests, of which 2 fixed and 1 each; for 2 requests: 6 * (2+2)/(2+4) = 4 ms
//
// Where all recorded batches have one size it is not known, and bounds come from both extremes
// (TestResized).

// strained returns how long a runner computes for the batch that it works on, ns. Runner.batch must
// not be 0.
func (s *Simulation) strained(r *runner, d int64) int64 {
	g := s.P.Objects[r.batch-1].Growths
	if g == nil {
		return d
	}
	return s.grown(r, g.Computing, d)
}

// stretched returns how long something outside takes for the batch that a runner works on, ns: each
// set of regions grows by itself, as a write to a disk does and a lookup before it does not.
func (s *Simulation) stretched(r *runner, set uint16, d int64) int64 {
	g := s.P.Objects[r.batch-1].Growths
	if g == nil || int(set) >= len(g.Outside) {
		return d
	}
	return s.grown(r, g.Outside[set], d)
}

// grown returns how long something that grows takes for the batch that a runner works on, ns.
// Runner.size is the size of the recorded batch; the elements are the requests of this one.
func (s *Simulation) grown(r *runner, g model.Growth, d int64) int64 {
	return int64(float64(d) * g.Factor(float64(r.size), float64(s.objects[r.batch-1].elements.len())))
}

// ask has a runner wait for the answer of a batcher, or of what a timer will call. The first that
// waits sets the timer: until it is over the queue is not empty. A batcher that waits for requests
// is woken, and looks for itself (retrying), as more may have come until it runs.
func (s *Simulation) ask(b *object, i, proc int32, o *instruction) {
	b.queue.push(i)
	if c := s.P.Calls[o.arg]; c != nil && b.queue.len() == 1 {
		s.set(b, c, o.set)
	}
	if b.others.len() > 0 {
		by := b.others.pop()
		s.runners[by].retrying = true
		s.ready(by, proc)
	}
}

// takeBatch has a batcher take the requests that wait, first come first served up to the limit, or
// reports that it must wait for one. They become elements of the object that OpAnswer empties: the
// same one, or, for what timers call, one for each call (Nth), as several may be under way.
func (s *Simulation) takeBatch(b *object, i int32, o *instruction) bool {
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

// answerBatch lets the goroutines of the batch go on, in the order in which they came. What the
// batcher does behind it takes its own time again.
func (s *Simulation) answerBatch(b *object, i, proc int32) {
	s.runners[i].batch = 0
	s.grantAll(&b.elements, proc)
}
