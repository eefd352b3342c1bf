package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// Objects decide anew: which goroutine goes on, and which one waits, follows from their state and
// the order in which goroutines come, as in the program. Flags of the runner show how it goes on.
// One that is given what it waits for (granted) does not do its op again, but goes on behind it.
// One that is woken to look again (retrying) does its op once more. One that is neither stays in
// the queue of the object.

// An object is a lock, a wait group, a channel or the like in a simulation. One struct serves all
// kinds: which fields have a meaning is by the ops on it.
type object struct {
	// A mutex, or an RWMutex that a writer has, is held.
	held    bool
	starved bool  // a mutex is handed to the first that waits (starvation mode)
	woken   bool  // one that waited for a mutex is about to try again, or one spins (mutexWoken)
	writer  bool  // a writer keeps readers out: it has the lock, or waits for the readers to leave
	drains  int32 // the runner that waits for them, from 1; 0 for none
	readers int32
	// Count is that of a wait group, of elements in a buffer, of goroutines at a barrier, and of
	// calls of a timer so far.
	count int32
	// Cap is the room of a buffer, how many meet at a barrier, and the limit of a batch. A send
	// that tries may exceed it, see give.
	cap   int32
	owed  int32 // elements that have been taken before they were sent, each given up by a later send
	hires int32 // see model.ObjectInfo
	staff int32 // goroutines that have yet to leave, below 0
	// unordered means that any of the waiting goroutines is served next.
	unordered bool
	queue     queue // runners that wait: for the lock, to write, join, send, meet, or be taken
	others    queue // runners that wait: to read or receive, for their turn, for a batch
	// elements are those in the buffer, each by the segment where its work is; also the tickets of
	// a sequence, and the runners of a batch.
	elements queue
	pace     model.Pace // of a rate limiter
}

// begin sets an object to its state when the window begins, with no goroutine that waits, in the
// memory that it has. Goroutines that wait then come to their ops as the simulation begins.
func (b *object) begin(o *model.ObjectInfo) {
	b.queue.reset()
	b.others.reset()
	b.elements.reset()
	*b = object{
		held: o.Held, writer: o.Held && o.Kind == model.ObjectRWMutex, readers: o.Readers, count: o.Count, owed: o.Owed, hires: o.Hires, staff: min(0, o.Staff), unordered: o.Unordered, cap: o.Capacity,
		queue: b.queue, others: b.others, elements: b.elements, pace: o.Pace,
	}
	b.elements.all = append(append(b.elements.all, o.Elements...), o.Tickets...)
}

// operate does the operation that runner i is at, on a processor, and has it go on behind that; or
// it reports that the runner must wait, and has put it into a queue. A runner that was granted what
// it waits for only goes on.
func (s *Simulation) operate(i, proc int32, o *instruction) bool {
	r := &s.runners[i]
	b := s.channel(o.arg)
	if r.granted {
		s.goOn(r, o)
		return true
	}
	// Again is kept before the op, which ends retrying.
	done, again := true, r.retrying
	switch o.kind {
	case model.OpLock:
		done = s.lock(b, i)
	case model.OpUnlock:
		s.yields = s.unlock(b, proc, false)
	case model.OpWriteLock:
		done = s.writeLock(b, i)
	case model.OpWriteUnlock:
		s.yields = s.writeUnlock(b, proc)
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
	s.waits(i, o, again)
	return false
}

// waits notes how late a runner was in the recording when what it now waits for was there. That is
// of the one wait that it had there: a wait more (again), for a lock that another one took
// meanwhile, has no example.
func (s *Simulation) waits(i int32, o *instruction, again bool) {
	r := &s.runners[i] // a call that was asked for may have moved the runners in memory
	r.late = int64(o.late)
	if again {
		r.late = -1
	}
}

// add changes the count of a wait group, and lets all goroutines go on that wait for its end
// (sync/waitgroup.go). Where Go panics, below 0, the count stays at 0: the recording may lack the
// additions before the window.
func (s *Simulation) add(b *object, d, proc int32) {
	b.count += d
	if b.count <= 0 {
		b.count = 0
		s.grantAll(&b.queue, proc)
	}
}

// join reports whether a wait group is done, and else has a runner wait for that.
func (b *object) join(i int32) bool {
	if b.count <= 0 {
		return true
	}
	b.queue.push(i)
	return false
}

// give sends an element, or the one that answers an element, and returns that send and whether it
// is done. The send that it returns has the lag and the place of what is really sent.
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
	// An element that travels through the network arrives d ns later, and its sender does not wait
	// for that. Such channels have no limit (model.Unlimited): one that is full would lose it.
	s.request(o.segment)
	if o.d > 0 {
		s.deliveries = append(s.deliveries, delivery{o.arg, o.segment})
		s.at(s.scaled(o.d, o.set), happenSent, int32(len(s.deliveries)-1))
		return o, true
	}
	// A send that tries (select with a default) and has been done in the recording is done here,
	// too, even without room: no list shows what the goroutine would do otherwise. One that drops
	// was refused there as well: it is done if there is room, and left out otherwise (TestOffers).
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

// takeElement receives an element, or reports that the runner must wait. A receive that does not
// wait (select with a default) has had an element in the recording. If none is there yet it goes on
// as if it had, and the element is owed: the next send to the channel gives up its element, so that
// as many are received as sent. It has no work then, and the runner is behind the op already.
func (s *Simulation) takeElement(b *object, i, proc int32, o *instruction) (done, owed bool) {
	if o.head && o.ref > 0 {
		return s.attend(i, proc, o.ref), false
	}
	if o.head && b.leaves() {
		return false, false
	}
	r := &s.runners[i]
	if r.element, done = s.receive(b, proc); !done && o.tries { // it is yet to come
		b.owed++
		r.pc++
		return true, true
	}
	if !done {
		b.others.push(i)
	}
	return done, false
}

// leaves reports whether a goroutine that serves takes no further element, as there are fewer of
// them than in the recording.
func (b *object) leaves() bool {
	if b.staff == 0 {
		return false
	}
	b.staff++
	return true
}

// grant gives a runner what it waits for, by a runner on a processor or, with -1, by something
// outside. The runner must have been taken out of the queue.
func (s *Simulation) grant(i, proc int32) {
	s.runners[i].granted = true
	s.ready(i, proc)
}

// grantAll gives the runners of a queue what they wait for, in order.
func (s *Simulation) grantAll(q *queue, proc int32) {
	for q.len() > 0 {
		s.grant(q.pop(), proc)
	}
}

// meet has the last goroutine that arrives let the others go on (a barrier, bulk-synchronous
// steps), and reports whether the runner is that one. A round takes as long as its slowest
// goroutine, so that it brings nothing to make another one faster. Package cond finds it (meets).
func (s *Simulation) meet(b *object, i, proc int32) bool {
	if b.count++; b.count < b.cap {
		b.queue.push(i)
		return false
	}
	b.count = 0
	s.grantAll(&b.queue, proc)
	return true
}

// readLock lets a reader in, or has it wait while a writer holds the lock or is next: see
// rwmutex.go.
func (b *object) readLock(i int32) bool {
	if b.writer {
		b.others.push(i)
		return false
	}
	b.readers++
	return true
}

// goOn goes on behind an op, or with the work of the element that was received. It notes which
// element a receive got here in place of the recorded one, for the send that answers it; 0 leaves
// the recorded answer.
func (s *Simulation) goOn(r *runner, o *instruction) {
	r.granted = false
	r.pc++
	if o.row {
		r.burst = s.now
	}
	if o.kind == model.OpReceive && o.segment > 0 {
		s.took[o.segment] = r.element
	}
	// A goroutine that serves does what belongs to the element, in whichever list that is.
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
