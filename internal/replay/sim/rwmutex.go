package sim

// writeLock follows sync.RWMutex: a writer keeps new readers out and waits for the readers that are
// in.
func (s *Simulation) writeLock(b *object, i int32) bool {
	if b.held || b.writer {
		b.queue.push(i)
		return false
	}
	if b.readers == 0 {
		b.held = true
		return true
	}
	b.writer = true
	b.queue.pushFirst(i)
	return false
}

func (s *Simulation) writeUnlock(b *object, proc int32) {
	b.held = false
	for b.others.len() > 0 {
		b.readers++
		s.grant(b.others.pop(), proc)
	}
	if b.queue.len() == 0 {
		return
	}
	if b.readers > 0 {
		b.writer = true
		return
	}
	b.held = true
	s.grant(b.queue.pop(), proc)
}

func (s *Simulation) readUnlock(b *object, proc int32) {
	if b.readers > 0 {
		b.readers--
	}
	if b.readers == 0 && b.writer && b.queue.len() > 0 {
		b.writer, b.held = false, true
		s.grant(b.queue.pop(), proc)
	}
}
