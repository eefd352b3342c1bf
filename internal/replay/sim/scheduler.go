package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// Slice is for how long a goroutine keeps its processor while others want it, ns, unless the
// recording shows that: see simulation.slice. It is Go's.
const Slice = 10_000_000

type processor struct {
	current, next int32 // runners, -1
	slice         int64
	idle          int64 // since when, if it has no runner
	waking        bool
}

// ready lets a runner go on, woken from a processor or, with -1, by something outside.
func (s *Simulation) ready(i, proc int32) {
	r := &s.runners[i]
	r.state = ready
	late := r.late
	r.late = -1
	s.Out.Woken++
	switch {
	case proc >= 0:
		p := &s.procs[proc]
		if p.next >= 0 {
			s.queue.push(p.next)
		}
		p.next = i
	default:
		s.queue.push(i)
	}
	for q := range s.procs {
		if p := &s.procs[q]; p.current < 0 && !p.waking {
			p.waking = true
			switch {
			case proc < 0 && late < 0:
				late = s.P.Outside
			case proc >= 0:
				if late < 0 {
					late = s.Lag()
					s.Out.lagged += late
				}
				s.Out.Roused++
			}
			if s.now-p.idle > model.Swapping {
				s.Out.Asleep++
				late += s.Change.Back // see outcome.go
			}
			s.at(late, happenAwake, int32(q))
			return
		}
	}
}

// take has a free processor go on with a goroutine that is ready: its own next one, the first in
// the queue, or another processor's next one.
func (s *Simulation) take(proc int32, after int64) {
	p := &s.procs[proc]
	inherit := p.slice
	p.current, p.slice = -1, s.Slice()
	i := int32(-1)
	switch {
	case p.next >= 0:
		i, p.next = p.next, -1
		if after > 0 {
			p.slice = max(inherit, 1) // as the runtime does, so that two cannot keep a processor for ever
		}
	case s.queue.len() > 0:
		i = s.queue.pop()
	default:
		for q := range s.procs {
			if other := &s.procs[q]; other.next >= 0 && other.current >= 0 {
				i, other.next = other.next, -1
				break
			}
		}
	}
	if i < 0 {
		p.idle = s.now
		return
	}
	p.current = i
	s.runners[i].state = onProc
	s.at(after, happenStep, proc)
}

// leave takes the runner off its processor.
func (s *Simulation) leave(proc int32, state uint8) {
	p := &s.procs[proc]
	if p.current >= 0 {
		s.runners[p.current].state = state
	}
	s.take(proc, s.P.Swap)
}

// passes lets time pass until what is to be next, if it would be: that saves the way through the
// heap.
func (s *Simulation) passes(d int64) bool {
	at := s.now + d
	if s.over || at > s.until || at > s.patience || len(s.heap) > 0 && s.heap[0].at <= at || s.Out.Work >= s.limit {
		return false
	}
	s.now = at
	s.n++
	s.Out.Steps++
	s.Out.Work++
	return true
}

// Slice returns how long the next slice is.
func (s *Simulation) Slice() int64 {
	all := s.P.Slices
	if len(all) < model.LeastSlices {
		return Slice
	}
	s.slices++
	return all[s.slices%len(all)]
}

// Lag returns how long the next processor takes to come back that a goroutine wakes up, where the
// recording has no example.
func (s *Simulation) Lag() int64 {
	d := s.P.Cross
	if n := len(s.P.Lags); n > 0 {
		d = s.P.Lags[s.Out.Roused*model.LagStride%n]
	}
	if f := s.Change.Lag; f > 0 {
		return int64(f * float64(d))
	}
	return d
}
