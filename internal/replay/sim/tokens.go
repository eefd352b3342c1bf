package sim

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A token is what goroutines wait for that another one wakes: how often it has been given, or,
// below 0, the first runner that waits for it, see waitedBy.
type token int32

func waitedBy(runner int32) token { return token(^runner) }

// waits returns the first runner that waits for the token, -1 for none.
func (t token) waits() int32 {
	if t >= 0 {
		return -1
	}
	return int32(^t)
}

// breakOne ends the wait for another goroutine that was the shortest in the recording, after there
// has been no progress for long: orders that were decided anew in one place and kept in another
// contradict each other.
func (s *Simulation) breakOne() {
	s.patience = s.now + s.P.Patience/16
	s.Out.Work += len(s.runners)
	best := int32(-1)
	var least int64 = math.MaxInt64
	for i := range s.runners {
		r := &s.runners[i]
		if r.state != blocked {
			continue
		}
		if o := &s.code[r.pc]; o.kind == model.OpWait && o.d < least {
			best, least = int32(i), o.d
		}
	}
	if best < 0 {
		return
	}
	t := &s.tokens[s.code[s.runners[best].pc].arg]
	if t.waits() == best {
		*t = s.after(best)
	} else {
		for i := t.waits(); i >= 0; i = s.runners[i].next {
			if s.runners[i].next == best {
				s.runners[i].next = s.runners[best].next
				break
			}
		}
	}
	s.Out.Broken++
	s.grant(best, -1)
}

// await takes a token, or reports that the runner must wait for it.
func (s *Simulation) await(i int32, o *instruction) bool {
	r := &s.runners[i]
	if r.granted {
		r.granted = false
		r.pc++
		return true
	}
	if s.skips(o) {
		r.pc++
		return true
	}
	t := &s.tokens[o.arg]
	if *t > 0 {
		*t--
		r.pc++
		return true
	}
	r.next = t.waits()
	r.late = int64(o.late)
	*t = waitedBy(i)
	return false
}

// after returns a token as it is without the first runner that waits for it.
func (s *Simulation) after(first int32) token {
	if next := s.runners[first].next; next >= 0 {
		return waitedBy(next)
	}
	return 0
}

// wake gives a token.
func (s *Simulation) wake(i, proc int32, o *instruction) {
	r := &s.runners[i]
	t := &s.tokens[o.arg]
	if w := t.waits(); w >= 0 {
		*t = s.after(w)
		s.runners[w].granted = true
		s.ready(w, proc)
		r.pc++
		return
	}
	if s.skips(o) {
		r.pc++
		return
	}
	*t++
	r.pc++
}
