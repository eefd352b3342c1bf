package replay

// starving is after which wait for a lock it is handed over, ns: the starvation mode of sync.Mutex.
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
	owed    int32 // elements that have been taken before they were sent
	// unordered means that any of the waiting goroutines is served next.
	unordered bool
	queue     queue // that wait for the lock, to write, to join, to send
	others    queue // that wait to read, to receive
	// elements are those in the buffer, each by the segment where its work is.
	elements queue
	pace     pace
	// lasts and since are those of a store, and filled is how often others' loads have been done for it.
	lasts, since int64
	filled       int
}

func (b *object) begin(o *objectInfo) {
	b.queue.reset()
	b.others.reset()
	b.elements.reset()
	*b = object{
		held: o.held, readers: o.readers, count: o.count, owed: o.owed, unordered: o.unordered, cap: o.capacity,
		queue: b.queue, others: b.others, elements: b.elements, pace: o.pace, lasts: o.lasts, since: o.since,
	}
	b.elements.all = append(append(b.elements.all, o.elements...), o.tickets...)
}

// channel returns an object, or the one that is used in its place.
func (s *simulation) channel(i int32) *object { return &s.objects[s.standIn[i]] }

// operate does the operation that runner i is at, or reports that it must wait.
func (s *simulation) operate(i, proc int32, o *instruction) bool {
	r := &s.runners[i]
	b := s.channel(o.arg)
	if r.granted {
		s.goOn(r, o)
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
		done = b.readLock(i)
	case opReadUnlock:
		s.readUnlock(b, proc)
	case opAdd:
		s.add(b, int32(o.d), proc)
	case opJoin:
		done = b.join(i)
	case opMeet:
		done = s.meet(b, i, proc)
	case opTicket:
		b.elements.push(i)
	case opTurn:
		done = s.turn(b, i)
	case opNext:
		s.nextTurn(b, i, proc)
	case opAsk:
		s.ask(b, i, proc, o)
		done = false
	case opTake:
		done = s.takeBatch(b, i, o)
	case opAnswer:
		s.answerBatch(b, i, proc)
	case opSend:
		o, done = s.give(b, i, proc, o)
	case opServe:
		done = s.serve(b, i, proc, o)
	case opReceive:
		var owed bool
		if done, owed = s.takeElement(b, i, proc, o); owed {
			return true
		}
	}
	if done {
		s.goOn(r, o)
		return true
	}
	r.late = int64(o.late)
	if again {
		r.late = -1
	}
	return false
}

// add changes the count of a wait group, and lets the goroutines go on that wait for its end.
func (s *simulation) add(b *object, d, proc int32) {
	b.count += d
	if b.count <= 0 {
		b.count = 0
		for b.queue.len() > 0 {
			s.grant(b.queue.pop(), proc)
		}
	}
}

// join reports whether a wait group is done, or has a runner wait for that.
func (b *object) join(i int32) bool {
	if b.count <= 0 {
		return true
	}
	b.queue.push(i)
	return false
}

// give sends an element, or the one that answers an element, and returns that send and whether it is done.
func (s *simulation) give(b *object, i, proc int32, o *instruction) (sent *instruction, done bool) {
	if o.answers() {
		other := s.answer(o)
		if other == nil { // its work is not in the recording
			return o, true
		}
		o, b = other, s.channel(other.arg)
	}
	if s.outdated(&s.runners[i], o.arg) {
		return o, true
	}
	s.request(o.segment)
	if o.d > 0 {
		s.deliveries = append(s.deliveries, delivery{o.arg, o.segment})
		s.at(s.scaled(o.d, o.set), happenSent, int32(len(s.deliveries)-1))
		return o, true
	}
	done = s.send(b, o.segment, proc)
	switch {
	case done || !o.tries:
	case o.head:
		done = true
	default: // there was room
		b.count++
		b.elements.push(o.segment)
		done = true
	}
	if !done {
		b.queue.push(i)
	}
	return o, done
}

// takeElement receives an element, or reports that the runner must wait. An element is owed if a receive that does not wait takes it
// before it is sent: then the runner has gone on.
func (s *simulation) takeElement(b *object, i, proc int32, o *instruction) (done, owed bool) {
	if o.head && o.ref > 0 {
		return s.attend(i, proc, o.ref), false
	}
	r := &s.runners[i]
	if r.element, done = s.receive(b, proc); !done && o.tries { // there was one, which is yet to come
		b.owed++
		r.pc++
		return true, true
	}
	if !done {
		b.others.push(i)
	}
	return done, false
}

// grant gives a runner what it waits for.
func (s *simulation) grant(i, proc int32) {
	s.runners[i].granted = true
	s.ready(i, proc)
}

// lock follows sync.Mutex: one that comes while the lock is free gets it (barging), also before one that is about to wake up, until one
// has waited for too long; then it is handed over.
func (s *simulation) lock(b *object, i int32) bool {
	r := &s.runners[i]
	b.rests(r)
	if !r.retrying {
		if !b.held && !b.starved {
			b.held = true
			return true
		}
		r.asked = s.now
		b.queue.push(i)
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
	b.queue.pushFirst(i)
	return false
}

func (s *simulation) unlock(b *object, proc int32) {
	b.held = false
	if b.queue.len() == 0 {
		b.starved = false
		return
	}
	if b.starved {
		i := b.queue.pop()
		r := &s.runners[i]
		if b.queue.len() == 0 || s.now-r.asked < starving {
			b.starved = false
		}
		b.held = true
		r.retrying = false
		s.grant(i, proc)
		return
	}
	if !b.woken {
		b.woken = true
		i := b.queue.pop()
		s.runners[i].retrying = true
		s.ready(i, proc)
	}
}

// meet has the last goroutine that arrives let the others go on (a barrier).
func (s *simulation) meet(b *object, i, proc int32) bool {
	if b.count++; b.count < b.cap {
		b.queue.push(i)
		return false
	}
	b.count = 0
	for b.queue.len() > 0 {
		s.grant(b.queue.pop(), proc)
	}
	return true
}

// writeLock follows sync.RWMutex: a writer keeps new readers out and waits for the readers that are in.
func (s *simulation) writeLock(b *object, i int32) bool {
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

func (s *simulation) writeUnlock(b *object, proc int32) {
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

// readLock lets a reader in, or has it wait while a writer holds the lock or is next.
func (b *object) readLock(i int32) bool {
	if b.held || b.writer {
		b.others.push(i)
		return false
	}
	b.readers++
	return true
}

func (s *simulation) readUnlock(b *object, proc int32) {
	if b.readers > 0 {
		b.readers--
	}
	if b.readers == 0 && b.writer && b.queue.len() > 0 {
		b.writer, b.held = false, true
		s.grant(b.queue.pop(), proc)
	}
}

// goOn goes on behind an op, or with the work of the element that was received.
func (s *simulation) goOn(r *runner, o *instruction) {
	r.granted = false
	r.pc++
	if o.row {
		r.burst = s.now
	}
	if o.kind == opReceive && o.segment > 0 {
		s.took[o.segment] = r.element
	}
	if o.kind == opReceive && o.head {
		if r.element == 0 { // what was done for it is not in the recording
			r.pc--
			return
		}
		s.works(r, r.element)
		r.pc = s.x.behind[r.element]
	}
	r.element = 0
}

// serveOn has a goroutine whose list is over take the next element, or reports that it must wait for one.
func (s *simulation) serveOn(i int32, o *instruction) bool {
	r := &s.runners[i]
	done := r.granted
	switch b := s.channel(o.arg); {
	case done:
	case o.ref > 0:
		done = s.attend(i, -1, o.ref)
	default:
		if r.element, done = s.receive(b, -1); !done {
			b.others.push(i)
		}
	}
	if !done {
		return false
	}
	r.granted = false
	if r.element > 0 {
		s.works(r, r.element)
		r.pc = s.x.behind[r.element]
	}
	r.element = 0
	return true
}

// send gives an element to the first that waits for one, or to the buffer, or reports that there is no room.
func (s *simulation) send(b *object, element, proc int32) bool {
	switch {
	case b.owed > 0:
		b.owed--
	case b.others.len() > 0:
		if b.unordered {
			b.others.bringForward(int(s.draw(uint64(b.others.len()))))
		}
		i := b.others.pop()
		s.runners[i].element = element
		s.chosen(i, b)
		s.grant(i, proc)
	case b.count < b.cap:
		b.count++
		b.elements.push(element)
	default:
		return false
	}
	return true
}

// receive takes the first element, and lets a sender that waits put its own into the buffer.
func (s *simulation) receive(b *object, proc int32) (element int32, ok bool) {
	switch {
	case b.count > 0:
		b.count--
		if b.elements.len() > int(b.count) { // else it was there at first, and not received in the recording
			element = b.elements.pop()
		}
		if b.queue.len() > 0 {
			b.count++
			b.elements.push(s.sentBy(b.queue.first()))
			s.grant(b.queue.pop(), proc)
		}
	case b.queue.len() > 0:
		element = s.sentBy(b.queue.first())
		s.grant(b.queue.pop(), proc)
	default:
		return 0, false
	}
	return element, true
}

// sentBy returns the element of a runner that waits to send.
func (s *simulation) sentBy(i int32) int32 {
	o := &s.code[s.runners[i].pc]
	if o.answers() {
		o = s.answer(o)
	}
	return o.segment
}

// answer returns the send in place of one that answers an element: that of the element which was received in its place, nil
// for none.
func (s *simulation) answer(o *instruction) *instruction {
	e := s.took[o.ref]
	if e == 0 {
		return o
	}
	if at := s.x.answers[e]; at >= 0 {
		return &s.code[at]
	}
	return nil
}
