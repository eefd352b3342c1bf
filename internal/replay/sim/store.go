package sim

// use takes one of what is left in a store, loads it if there is none, or reports that the runner
// must wait for another one that does.
func (s *Simulation) use(i int32, o *instruction) bool {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	r.granted = false
	lent := s.P.Lent[o.arg]
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
		if o.ref == 0 { // as another one did, in turn
			r.borrows, r.home = true, r.pc
			r.pc = s.x.fillings[lent[b.filled%len(lent)]-1].Use
			b.filled++
		}
		r.pc++
	}
	return true
}

// fill has a store be loaded, and its runner and all that wait go on with using it.
func (s *Simulation) fill(i, proc int32, o *instruction) {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	b.held, b.count, b.since = false, b.cap, s.now
	for b.queue.len() > 0 {
		s.grant(b.queue.pop(), proc)
	}
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
