package replay

import (
	"math"
)

// A token is what goroutines wait for that another one wakes.
type token struct {
	given int32
	wait  int32 // first runner that waits for it, -1
}

// breakOne ends the wait for another goroutine that was the shortest in the recording, after there has been no progress for
// long: orders that were decided anew in one place and kept in another contradict each other.
func (s *simulation) breakOne() {
	s.patience = s.now + s.p.patience/16
	s.out.work += len(s.runners)
	best := int32(-1)
	var least int64 = math.MaxInt64
	for i := range s.runners {
		r := &s.runners[i]
		if r.state != blocked {
			continue
		}
		l := &s.p.lists[r.list]
		if int(r.pc) >= len(l.ops) {
			continue
		}
		if o := &l.ops[r.pc]; o.kind == opWait && o.d < least {
			best, least = int32(i), o.d
		}
	}
	if best < 0 {
		return
	}
	o := &s.p.lists[s.runners[best].list].ops[s.runners[best].pc]
	for at := &s.tokens[o.arg].wait; *at >= 0; at = &s.runners[*at].next {
		if *at == best {
			*at = s.runners[best].next
			break
		}
	}
	s.out.broken++
	s.grant(best, -1)
}

// A gathering is a number of goroutines whose end another one waits for.
type gathering struct{ left, waiter int32 }

// finished tells of the end of a goroutine.
func (s *simulation) finished(i, proc int32) {
	of := s.runners[i].of
	if of == 0 {
		return
	}
	g := &s.gathered[of]
	if g.left--; g.left == 0 && g.waiter >= 0 {
		s.grant(g.waiter, proc)
	}
}

// gather waits for the goroutines that the runner has started, or reports that it must wait.
func (s *simulation) gather(i int32) bool {
	r := &s.runners[i]
	if !r.granted && r.gathers > 0 && s.gathered[r.gathers].left > 0 {
		s.gathered[r.gathers].waiter = i
		return false
	}
	r.granted = false
	r.gathers = 0
	r.pc++
	return true
}

// skips reports whether the other side of an op is not done, or not any more.
func (s *simulation) skips(o *op) bool {
	if !o.once {
		return o.never
	}
	if s.passed[o.nth] {
		return true
	}
	s.passed[o.nth] = true
	return false
}

// await takes a token, or reports that the runner must wait for it.
func (s *simulation) await(i int32, o *op) bool {
	r := &s.runners[i]
	if r.granted {
		r.granted = false
		r.pc++
		return true
	}
	t := &s.tokens[o.arg]
	if t.given > 0 {
		t.given--
		r.pc++
		return true
	}
	r.next = t.wait
	r.late = int64(o.late)
	t.wait = i
	return false
}

// wake gives a token.
func (s *simulation) wake(i, proc int32, o *op) {
	r := &s.runners[i]
	t := &s.tokens[o.arg]
	if w := t.wait; w >= 0 {
		t.wait = s.runners[w].next
		s.runners[w].granted = true
		s.ready(w, proc)
		r.pc++
		return
	}
	if s.skips(o) {
		r.pc++
		return
	}
	t.given++
	r.pc++
}
