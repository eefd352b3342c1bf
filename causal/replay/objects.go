package replay

// starving is after which wait for a lock it is handed over, ns. It is that of sync.Mutex.
const starving = 1_000_000

// An object is a lock, a wait group or a channel in a simulation.
type object struct {
	held    bool // by a writer
	starved bool // the lock is handed to the first that waits
	woken   bool // one that waited is about to try again
	writer  bool // one waits for the readers to leave
	readers int32
	count   int32 // of a wait group, or elements in a buffer
	cap     int32
	queue   []int32 // that wait for the lock, to write, to join, to send
	others  []int32 // that wait to read, to receive
}

func (b *object) begin(o *objectInfo) {
	b.held, b.readers, b.count, b.cap = o.held, o.readers, o.count, o.capacity
}

func first(q *[]int32) int32 {
	i := (*q)[0]
	*q = (*q)[1:]
	return i
}

// operate does the operation that runner i is at, or reports that it must wait.
func (s *simulation) operate(i, proc int32, o *op) bool {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	if r.granted {
		r.granted = false
		r.pc++
		return true
	}
	done, again := true, r.retrying
	switch o.kind {
	case opLock:
		done = s.lock(b, i)
	case opUnlock:
		s.unlock(b, proc)
	case opWriteLock:
		done = s.writeLock(b, i)
	case opWriteUnlock:
		s.writeUnlock(b, proc)
	case opReadLock:
		if done = !b.held && !b.writer; done {
			b.readers++
		} else {
			b.others = append(b.others, i)
		}
	case opReadUnlock:
		s.readUnlock(b, proc)
	case opAdd:
		b.count += int32(o.d)
		if b.count <= 0 {
			b.count = 0
			for len(b.queue) > 0 {
				s.grant(first(&b.queue), proc)
			}
		}
	case opJoin:
		if done = b.count <= 0; !done {
			b.queue = append(b.queue, i)
		}
	case opSend:
		done = s.send(b, i, proc)
	case opReceive:
		done = s.receive(b, i, proc)
	}
	if done {
		r.pc++
		return true
	}
	r.late = int64(o.late)
	if again {
		r.late = -1
	}
	return false
}

// grant gives a runner what it waits for.
func (s *simulation) grant(i, proc int32) {
	s.runners[i].granted = true
	s.ready(i, proc)
}

// lock follows sync.Mutex: who comes while the lock is free gets it, also before one that is about to wake up, until one
// has waited for too long; then it is handed over.
func (s *simulation) lock(b *object, i int32) bool {
	r := &s.runners[i]
	if !r.retrying {
		if !b.held && !b.starved {
			b.held = true
			return true
		}
		r.asked = s.now
		b.queue = append(b.queue, i)
		return false
	}
	b.woken = false
	if !b.held {
		b.held = true
		r.retrying = false
		return true
	}
	if s.now-r.asked > starving {
		b.starved = true
	}
	b.queue = append([]int32{i}, b.queue...)
	return false
}

func (s *simulation) unlock(b *object, proc int32) {
	b.held = false
	if len(b.queue) == 0 {
		b.starved = false
		return
	}
	if b.starved {
		i := first(&b.queue)
		r := &s.runners[i]
		if len(b.queue) == 0 || s.now-r.asked < starving {
			b.starved = false
		}
		b.held = true
		r.retrying = false
		s.grant(i, proc)
		return
	}
	if !b.woken {
		b.woken = true
		i := first(&b.queue)
		s.runners[i].retrying = true
		s.ready(i, proc)
	}
}

// writeLock follows sync.RWMutex: a writer keeps new readers out and waits for those that are in.
func (s *simulation) writeLock(b *object, i int32) bool {
	if b.held || b.writer {
		b.queue = append(b.queue, i)
		return false
	}
	if b.readers == 0 {
		b.held = true
		return true
	}
	b.writer = true
	b.queue = append([]int32{i}, b.queue...)
	return false
}

func (s *simulation) writeUnlock(b *object, proc int32) {
	b.held = false
	for len(b.others) > 0 {
		b.readers++
		s.grant(first(&b.others), proc)
	}
	if len(b.queue) == 0 {
		return
	}
	if b.readers > 0 {
		b.writer = true
		return
	}
	b.held = true
	s.grant(first(&b.queue), proc)
}

func (s *simulation) readUnlock(b *object, proc int32) {
	if b.readers > 0 {
		b.readers--
	}
	if b.readers == 0 && b.writer && len(b.queue) > 0 {
		b.writer, b.held = false, true
		s.grant(first(&b.queue), proc)
	}
}

func (s *simulation) send(b *object, i, proc int32) bool {
	switch {
	case len(b.others) > 0:
		s.grant(first(&b.others), proc)
	case b.count < b.cap:
		b.count++
	default:
		b.queue = append(b.queue, i)
		return false
	}
	return true
}

func (s *simulation) receive(b *object, i, proc int32) bool {
	switch {
	case b.count > 0:
		b.count--
		if len(b.queue) > 0 {
			b.count++
			s.grant(first(&b.queue), proc)
		}
	case len(b.queue) > 0:
		s.grant(first(&b.queue), proc)
	default:
		b.others = append(b.others, i)
		return false
	}
	return true
}
