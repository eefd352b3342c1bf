package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

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
	pace     model.Pace
	// lasts and since are those of a store, and filled is how often others' loads have been done
	// for it.
	lasts, since int64
	filled       int
}

func (b *object) begin(o *model.ObjectInfo) {
	b.queue.reset()
	b.others.reset()
	b.elements.reset()
	*b = object{
		held: o.Held, readers: o.Readers, count: o.Count, owed: o.Owed, unordered: o.Unordered, cap: o.Capacity,
		queue: b.queue, others: b.others, elements: b.elements, pace: o.Pace, lasts: o.Lasts, since: o.Since,
	}
	b.elements.all = append(append(b.elements.all, o.Elements...), o.Tickets...)
}

// operate does the operation that runner i is at, or reports that it must wait.
func (s *Simulation) operate(i, proc int32, o *instruction) bool {
	r := &s.runners[i]
	b := s.channel(o.arg)
	if r.granted {
		s.goOn(r, o)
		return true
	}
	done, again := true, r.retrying
	switch o.kind {
	case model.OpLock:
		done = s.lock(b, i)
	case model.OpUnlock:
		s.unlock(b, proc)
	case model.OpWriteLock:
		done = s.writeLock(b, i)
	case model.OpWriteUnlock:
		s.writeUnlock(b, proc)
	case model.OpReadLock:
		done = b.readLock(i)
	case model.OpReadUnlock:
		s.readUnlock(b, proc)
	case model.OpAdd:
		s.add(b, int32(o.d), proc)
	case model.OpJoin:
		done = b.join(i)
	case model.OpMeet:
		done = s.meet(b, i, proc)
	case model.OpTicket:
		b.elements.push(i)
	case model.OpTurn:
		done = s.turn(b, i)
	case model.OpNext:
		s.nextTurn(b, i, proc)
	case model.OpAsk:
		s.ask(b, i, proc, o)
		done = false
	case model.OpTake:
		done = s.takeBatch(b, i, o)
	case model.OpAnswer:
		s.answerBatch(b, i, proc)
	case model.OpSend:
		o, done = s.give(b, i, proc, o)
	case model.OpServe:
		done = s.serve(b, i, proc, o)
	case model.OpReceive:
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
func (s *Simulation) add(b *object, d, proc int32) {
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

// give sends an element, or the one that answers an element, and returns that send and whether it
// is done.
func (s *Simulation) give(b *object, i, proc int32, o *instruction) (sent *instruction, done bool) {
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

// takeElement receives an element, or reports that the runner must wait. An element is owed if a
// receive that does not wait takes it before it is sent: then the runner has gone on.
func (s *Simulation) takeElement(b *object, i, proc int32, o *instruction) (done, owed bool) {
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
func (s *Simulation) grant(i, proc int32) {
	s.runners[i].granted = true
	s.ready(i, proc)
}

// meet has the last goroutine that arrives let the others go on (a barrier).
func (s *Simulation) meet(b *object, i, proc int32) bool {
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

// readLock lets a reader in, or has it wait while a writer holds the lock or is next.
func (b *object) readLock(i int32) bool {
	if b.held || b.writer {
		b.others.push(i)
		return false
	}
	b.readers++
	return true
}

// goOn goes on behind an op, or with the work of the element that was received.
func (s *Simulation) goOn(r *runner, o *instruction) {
	r.granted = false
	r.pc++
	if o.row {
		r.burst = s.now
	}
	if o.kind == model.OpReceive && o.segment > 0 {
		s.took[o.segment] = r.element
	}
	if o.kind == model.OpReceive && o.head {
		if r.element == 0 { // what was done for it is not in the recording
			r.pc--
			return
		}
		s.works(r, r.element)
		r.pc = s.x.behind[r.element]
	}
	r.element = 0
}
