package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// set has a timer call the next one that was recorded.
func (s *Simulation) set(b *object, c *model.Calls, set uint16) {
	n := int(b.count) % len(c.Lists)
	b.count++
	i := s.admit(c.Lists[n])
	s.runners[i].state = away
	s.backIn(i, s.scaled(c.Delays[n], set))
}

// strained returns how long a runner computes for the batch that it works on.
func (s *Simulation) strained(r *runner, d int64) int64 {
	g := s.P.Objects[r.batch-1].Growths
	if g == nil {
		return d
	}
	return s.grown(r, g.Computing, d)
}

// stretched returns how long something outside takes for the batch that a runner works on.
func (s *Simulation) stretched(r *runner, set uint16, d int64) int64 {
	g := s.P.Objects[r.batch-1].Growths
	if g == nil {
		return d
	}
	return s.grown(r, g.Outside[set], d)
}

// grown returns how long something that grows takes for the batch that a runner works on.
func (s *Simulation) grown(r *runner, g model.Growth, d int64) int64 {
	return int64(float64(d) * g.Factor(float64(r.size), float64(s.objects[r.batch-1].elements.len())))
}

// ask has a runner wait for the answer of a batcher, or of what a timer will call.
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

// takeBatch has a batcher take those who wait, or reports that it must wait for one.
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

// answerBatch lets the goroutines of the batch go on.
func (s *Simulation) answerBatch(b *object, i, proc int32) {
	s.runners[i].batch = 0
	for b.elements.len() > 0 {
		s.grant(b.elements.pop(), proc)
	}
}
