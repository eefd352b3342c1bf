package sim

// Fork and join: a goroutine starts several others and waits until all of them are over, or all but
// a few (a quorum, hedged requests). A trace of stock Go shows only which of them was the last, and
// with a faster region that may be another one. So the wait is for the number that is left,
// whichever they are. Three replicas take 4, 5 and 7 ms, and two are waited for (without is 1):
//
//	recorded                replicas end at 4, 5 and 7    the starter goes on at 5, by the second
//	the third takes half    replicas end at 4, 5 and 3.5  it goes on at 4, by the first
//
// Gather in package cond finds such waits, and its quorum.go the ones that leave some out.
// TestQuorum holds both. That is wrong for a goroutine that waits for particular others, such as
// for its last one alone: the rules count where all rounds leave out as many. A WaitGroup each of
// whose operations is recorded is an object, see objects.go.

// A gathering is a number of goroutines that one goroutine has started, and whose end it waits for.
// Left is how many are not over, and waiter the runner that waits, -1 while it does not.
type gathering struct {
	left, waiter int32
	without      int32 // how many of them it goes on without
}

// finished handles the end of a goroutine: if its starter waits, and few enough are left, that goes
// on. It is next on the processor of the goroutine that ends, as Done wakes it from there.
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

// gather waits for the goroutines that the runner has started until all but arg of them are over,
// or reports that it must wait. Where head is set it waits for more of the same ones later on, as
// one that takes the first answer and then the second; else the next goroutine that it starts
// begins a new gathering, and the others that are left end unheeded.
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

// skips reports whether the other side of an op is not done, or not any more. Lists begin anew, and
// one side of a wait may be before the place where its list does, the other one behind: the wake-up
// comes once and the wait each time. Without this the second round waits for ever. Package infer
// marks these ops (recur): never where the other side is not done at all, and once where it is done
// in the first round only. The first call for an op of the second kind notes that it is done.
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
