package sim

// A gathering is a number of goroutines whose end another one waits for.
type gathering struct {
	left, waiter int32
	without      int32 // how many of them it goes on without
}

// finished handles the end of a goroutine.
func (s *Simulation) finished(i, proc int32) {
	of := s.runners[i].of
	if of == 0 {
		return
	}
	g := &s.gathered[of]
	if g.left--; g.left <= g.without && g.waiter >= 0 {
		s.grant(g.waiter, proc)
		g.waiter = -1
	}
}

// gather waits for the goroutines that the runner has started, or reports that it must wait.
func (s *Simulation) gather(i int32, o *instruction) bool {
	r := &s.runners[i]
	if !r.granted && r.gathers > 0 && s.gathered[r.gathers].left > o.arg {
		g := &s.gathered[r.gathers]
		g.waiter, g.without = i, o.arg
		r.late = int64(o.late)
		return false
	}
	r.granted = false
	if !o.head { // else it waits for more of them
		r.gathers = 0
	}
	r.pc++
	return true
}

// skips reports whether the other side of an op is not done, or not any more.
func (s *Simulation) skips(o *instruction) bool {
	if !o.once {
		return o.never
	}
	if s.passed[o.ref] {
		return true
	}
	s.passed[o.ref] = true
	return false
}
