package sim

// A readers-writer lock prefers writers to readers that come later, and readers that wait to the
// next writer: neither side starves. That is why one slow reader holds up all others once a writer
// has come, which a lock without this rule would not show. In ms, with a reader that takes 5:
//
//	reader 1   in 0..5
//	writer        comes at 1, waits for reader 1, has the lock 5..6
//	reader 2        comes at 2, waits for the writer, in from 6
//
// The rules are those of sync/rwmutex.go. Lock takes a sync.Mutex within (w), for which writers
// compete as for any other: one may come again before one that waits, see mutex.go. Then it keeps
// out new readers (readerCount below 0) and waits for the readers that are in (readerWait), of whom
// the last wakes it. Unlock lets in all readers that wait, and gives the Mutex back. A writer that
// is woken for the Mutex keeps no reader out before it runs.

// An object that is such a lock is held as the Mutex within is; writer is whether readers are kept
// out. Writers wait for the Mutex in its queue, readers in others; one writer at a time drains.

// writeLock has a writer take the lock, or reports that it must wait: for other writers first, then
// for the readers that are in.
func (s *Simulation) writeLock(b *object, i int32) bool {
	if r := &s.runners[i]; r.owns {
		r.owns, r.retrying = false, false
	} else if !s.lock(b, i) {
		return false
	}
	b.writer = true
	if b.readers > 0 {
		b.drains = i + 1
		return false
	}
	return true
}

// writeUnlock lets all readers that wait in, and gives the Mutex back. It reports whether the
// runner yields, see unlock.
func (s *Simulation) writeUnlock(b *object, proc int32) (yields bool) {
	b.writer = false
	for b.others.len() > 0 {
		b.readers++
		s.grant(b.others.pop(), proc)
	}
	return s.unlock(b, proc, true)
}

// readUnlock has a reader leave. The last of them lets the writer in that waits for that. The count
// does not fall below 0, as a recording may have more unlocks than locks.
func (s *Simulation) readUnlock(b *object, proc int32) {
	if b.readers > 0 {
		b.readers--
	}
	if b.readers == 0 && b.drains > 0 {
		s.grant(b.drains-1, proc)
		b.drains = 0
	}
}
