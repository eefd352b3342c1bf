package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Work that is done side by side may have to be handed on in order (a sequence, a reorder buffer):
// goroutines take tickets, work, and wait for their turn. One that is slow holds up all behind it
// (head-of-line blocking), however fast these are. With tickets 1 to 3, in ms:
//
//	1  works 0..5, goes on at 5
//	2  works 0..2, waits 2..5, goes on
//	3  works 0..3, waits 3..5, goes on behind 2
//
// The order is that in which the tickets are taken in the replay, which may be another one than in
// the recording. Package cond finds such sequences: see sequence in its tickets.go, which takes an
// order that 99 % of the goroutines keep. What other condition variables wait for is a count, a
// store or a barrier, and else a token.

// turn lets a runner go on if no lower number than its own is left, or reports that it must wait. A
// runner without a ticket goes on. The elements of a sequence are the tickets of the goroutines
// that have not gone on, in order: the number of a runner, or model.AtFirst of a list that had its
// ticket when the window began.
func (s *Simulation) turn(b *object, i int32) bool {
	mine := s.ticketOf(b, i)
	if mine == trace.None || b.elements.first() == mine {
		return true
	}
	b.others.push(i)
	return false
}

// nextTurn gives a runner's ticket back, and has the next one go on. If that has not come yet it
// finds its ticket first when it does. It is linear in the goroutines that wait, times the tickets
// before theirs: there are as many as work side by side.
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

// ticketOf returns the first ticket of a runner, none if it has not any. It may have several,
// having taken more before its first turn, and uses them in order.
func (s *Simulation) ticketOf(b *object, i int32) int32 {
	for _, x := range b.elements.all[b.elements.head:] {
		if x == i || x == model.AtFirst(s.runners[i].list) {
			return x
		}
	}
	return trace.None
}
