package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// turn lets a runner go on if no lower number than its own is left, or reports that it must wait.
// The elements of a sequence are the tickets of the goroutines that have not gone on, in order.
func (s *Simulation) turn(b *object, i int32) bool {
	mine := s.ticketOf(b, i)
	if mine == trace.None || b.elements.first() == mine {
		return true
	}
	b.others.push(i)
	return false
}

// nextTurn gives a runner's ticket back, and has the next one go on.
func (s *Simulation) nextTurn(b *object, i, proc int32) {
	if mine := s.ticketOf(b, i); mine != trace.None {
		b.elements.remove(mine)
	}
	if b.elements.len() == 0 {
		return
	}
	next := b.elements.first()
	for _, w := range b.others.all[b.others.head:] {
		if s.ticketOf(b, w) == next {
			b.others.remove(w)
			s.grant(w, proc)
			return
		}
	}
}

// ticketOf returns the first ticket of a runner, none if it has not any.
func (s *Simulation) ticketOf(b *object, i int32) int32 {
	for _, x := range b.elements.all[b.elements.head:] {
		if x == i || x == model.AtFirst(s.runners[i].list) {
			return x
		}
	}
	return trace.None
}
