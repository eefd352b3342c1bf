package sim

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A wait that no object explains stays a wait for one goroutine: the one that ended it in the
// recording. It is a semaphore of its own, the token: the waker gives it, and the waiter takes it,
// whichever comes first. So the recorded order of cause and effect is kept (happened before, in
// Lamport's sense). What is lost is a choice: where another goroutine might have ended the wait, as
// at a lock, the answer is right only while the order stays. The section on bounds in
// docs/design/0007-replay.md has by how much that widens an answer.

// A token is what goroutines wait for that another one wakes: how often it has been given, or,
// below 0, the runner that came last of all that wait for it, see waitedBy; the others follow by
// runner.next. Mostly one runner waits for a token: several do where a list is followed by several
// runners at a time, and then the last one is woken first.
type token int32

// waitedBy returns the token that a runner waits for. Runners begin with 0: the complement keeps
// the first one apart from a token that has not been given.
func waitedBy(runner int32) token { return token(^runner) }

// waits returns the runner that waits for the token and is woken next, -1 for none.
func (t token) waits() int32 {
	if t >= 0 {
		return -1
	}
	return int32(^t)
}

// Order that is kept in one place may contradict order that is decided anew in another (deadlock, a
// cycle of waits). A and B take the only connection of a pool, which is an object:
//
//	recorded  A takes it, wakes B, gives it back; B waits for A, takes it, gives it back
//	replay    B comes first and takes it, then waits for A; A waits for the connection: neither
//	          goes on
//
// The program has no such cycle: B's wait for A was an accident of the recording, mostly a short
// one. So the shortest of all such waits is given up, once there has been no visit for three times
// as long as in the recording (Program.Patience). It is not known which one closes the cycle: if
// that was the wrong one, the next is given up a sixteenth of that later. Each of them is counted,
// see Outcome.Broken; with many of them the stalls alone make the replay too slow, which shows in
// its deviation.

// breakOne ends the wait for another goroutine that was the shortest in the recording; if no runner
// waits so, a receive. It is linear in the runners, which counts as work. Other waits for objects
// are never given up. It runs only when something happens: where nothing at all is planned any more
// the simulation ends, and is stuck. Beside a ticker something always happens.
func (s *Simulation) breakOne() {
	s.patience = s.now + s.P.Patience/16
	s.Out.Work += len(s.runners)
	// Op.D of a wait is for how long it was in the recording, ns.
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
		s.breakReceive()
		return
	}
	// It leaves the runners that wait for the same token, wherever it is among them. The token that
	// it did not get may still be given: then the next wait for it ends at once.
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

// breakReceive has the first runner that waits for an element, and does not serve, go on without:
// the next send gives its element up, as for one that tries. See takeElement.
func (s *Simulation) breakReceive() {
	for i := range s.runners {
		r := &s.runners[i]
		if r.state != blocked || r.chooses || r.attends {
			continue
		}
		if o := &s.code[r.pc]; o.kind == model.OpReceive && !o.head {
			b := s.channel(o.arg)
			b.others.remove(int32(i))
			b.owed++
			r.element = 0
			s.Out.Broken++
			s.grant(int32(i), -1)
			return
		}
	}
}

// await takes a token, or reports that the runner must wait for it. A runner that wake or breakOne
// lets go on comes here a second time, granted, and goes on behind the op.
func (s *Simulation) await(i int32, o *instruction) bool {
	r := &s.runners[i]
	if !r.granted && !s.skips(o) {
		t := &s.tokens[o.arg]
		if *t <= 0 {
			r.next, r.late = t.waits(), int64(o.late)
			*t = waitedBy(i)
			return false
		}
		*t--
	}
	r.granted = false
	r.pc++
	return true
}

// after returns a token as it is without the first runner that waits for it.
func (s *Simulation) after(first int32) token {
	if next := s.runners[first].next; next >= 0 {
		return waitedBy(next)
	}
	return 0
}

// wake gives a token: to a runner that waits for it, by the processor of the waker, or to the next
// one that comes. Where none will come (skips) it is not given, so that it is not there too early
// in a later round.
func (s *Simulation) wake(i, proc int32, o *instruction) {
	t := &s.tokens[o.arg]
	if w := t.waits(); w >= 0 {
		*t = s.after(w)
		s.grant(w, proc)
	} else if !s.skips(o) {
		*t++
	}
	s.runners[i].pc++
}
