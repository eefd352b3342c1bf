package sim

// A store is what one goroutine loads for all (a cached value, a lease, a batch of numbers): it is
// good for a number of uses, or for some time (time to live). The goroutine that finds it used up
// loads it, and others that come meanwhile wait (single flight). So faster requests load more often
// where uses count, and as often as before where time does. It is wrong for a program whose
// goroutines all load at once (cache stampede), which has no such wait; package doubt has that.
//
// A list holds a load between its OpUse and its OpFill, as it did it: see model.Filling. In the
// replay it may be another goroutine's turn to load. Then that one borrows the load of a list that
// has one, in turn, and comes back:
//
//	list of A (did load)       ... OpUse [load ...] OpFill ...
//	list of B (did not)        ... OpUse ...
//	B finds the store empty    OpUse of B -> behind OpUse of A, load, OpFill of A -> OpUse of B
//	A finds it full            OpUse of A -> behind OpFill of A: the load is left out
//
// The rule is found by refills in package cond, which holds that a load waits for no goroutine, so
// that any can do it.

// use takes one of what is left in a store, loads it if there is none, or reports that the runner
// must wait for another one that does. Where it goes on it has set the runner's pc: behind the op,
// or behind the load.
func (s *Simulation) use(i int32, o *instruction) bool {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	r.granted = false
	lent := s.P.Lent[o.arg]
	// A store whose loads cannot be borrowed counts as full: its goroutines would never go on.
	switch {
	case b.lasts > 0 && s.now-b.since < b.lasts, b.lasts == 0 && b.count > 0, len(lent) == 0:
		b.count--
		r.pc++
		if o.ref > 0 {
			r.pc = s.x.fillings[o.ref-1].Fill + 1
		}
	case b.held:
		b.queue.push(i)
		r.late = int64(o.late)
		return false
	default:
		b.held = true
		// A list that has a load of its own does that, which stands behind the op.
		if o.ref == 0 { // as another one did, in turn
			r.borrows, r.home = true, r.pc
			r.pc = s.x.fillings[lent[b.filled%len(lent)]-1].Use
			b.filled++
		}
		r.pc++
	}
	return true
}

// fill has a store be loaded, and its runner and all that wait go on with using it: they come to
// their OpUse again, and take what is there, or load in turn if it is not enough for all.
func (s *Simulation) fill(i, proc int32, o *instruction) {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	b.held, b.count, b.since = false, b.cap, s.now
	s.grantAll(&b.queue, proc)
	switch {
	case r.borrows:
		r.borrows, r.pc = false, r.home
	case o.ref > 0:
		r.pc = s.x.fillings[o.ref-1].Use
	default: // it began before the window
		b.count--
		r.pc++
	}
}
