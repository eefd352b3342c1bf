package sim

// Channels follow runtime/chan.go: first in, first out, for elements and for goroutines that wait.
// A send gives its element to the first receiver that waits, else to the buffer if it has room,
// else it waits. A receive takes the first element of the buffer, and the first sender that waits
// puts its own there. So there are no elements while receivers wait, and no room while senders do.
// A semaphore and a pool of connections are channels, too: their elements are places.
//
// An element is the number of the segment of work that follows its receive in the recording
// (model.Program.Segments), so that work travels with it: a goroutine that serves goes on with the
// work of the element that it gets here, in whichever list that was recorded. Two workers:
//
//	recorded  w1 receives a, does list 1 behind a;  w2 receives b, does list 2 behind b
//	replay    w1 receives b, does list 2 behind b;  w2 receives a, does list 1 behind a
//
// Closing has no op: receives that a close ends are waits for the goroutine that closes, see
// channel_close.go in package infer, and TestLateForAClose.

// clear empties the channels of the requests that a list has made, except channels that goroutines
// wait for. It is done as the list begins anew: where a quorum has answered, the late answers to
// the request before stay in its channel, and must not be taken for answers to the next one, which
// has a channel of its own in the program. TestAnswerThatComesTooLate holds that.
func (s *Simulation) clear(list int32) {
	for _, i := range s.P.Lists[list].Leaves {
		if b := &s.objects[i]; b.queue.len() == 0 && b.others.len() == 0 {
			b.begin(&s.P.Objects[i])
		}
	}
}

// channel returns an object, or the one that is used in its place: a goroutine that goes on as it
// did at another select statement uses the channel of its own request there, see goOnAs.
func (s *Simulation) channel(i int32) *object { return &s.objects[s.standIn[i]] }

// serveOn has a goroutine whose list is over take the next element, or reports that it must wait
// for one. Where it has one it goes on with the work of that. An element of which no work is
// recorded (0) leaves it where it is, to take the next one.
func (s *Simulation) serveOn(i, proc int32, o *instruction) bool {
	r := &s.runners[i]
	done := r.granted
	switch b := s.channel(o.arg); {
	case done:
	case o.ref > 0:
		done = s.attend(i, proc, o.ref)
	case b.leaves():
	default:
		if r.element, done = s.receive(b, proc); !done {
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

// send gives an element to the first that waits for one, or to the buffer, or reports that there is
// no room. The receiver goes on by the processor of the sender, or, with -1, as if by something
// outside: an element that has been on its way through the network.
func (s *Simulation) send(b *object, element, proc int32) bool {
	switch {
	// A receiver has it already, see takeElement, or the pool has shrunk by it.
	case b.owed > 0:
		b.owed--
	case b.others.len() > 0:
		// As database/sql gives a connection back: connRequestSet.TakeRandom.
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

// serveAlso has one more goroutine serve as a list does, first with an element that is there.
// Runners may move in memory meanwhile.
func (s *Simulation) serveAlso(list int32) {
	at := s.x.idle[list]
	if at < 0 || s.code[at].ref > 0 || len(s.runners) >= maxRunners {
		return
	}
	started := s.started[list] // by the program itself
	i := s.admit(list)
	s.started[list], s.runners[i].pc = started, at
	s.ready(i, -1)
}

// receive takes the first element, and lets a sender that waits put its own into the buffer. It
// returns false, and changes nothing, where there is none. The element is 0 where its work is not
// recorded: it was there when the window began, and nothing received it in the window. Count has
// such elements, and object.elements has not: while there are more by count one of them is taken.
func (s *Simulation) receive(b *object, proc int32) (element int32, ok bool) {
	switch {
	case b.count > 0:
		b.count--
		// Else it was there at first, and not received in the recording.
		if b.elements.len() > int(b.count) {
			element = b.elements.pop()
		}
		if b.queue.len() > 0 {
			b.count++
			b.elements.push(s.sentBy(b.queue.first()))
			s.grant(b.queue.pop(), proc)
		}
	// Without room a sender hands its element over.
	case b.queue.len() > 0:
		element = s.sentBy(b.queue.first())
		s.grant(b.queue.pop(), proc)
	default:
		return 0, false
	}
	return element, true
}

// sentBy returns the element of a runner that waits to send: that of the op that it is at.
func (s *Simulation) sentBy(i int32) int32 {
	o := &s.code[s.runners[i].pc]
	if o.answers() {
		o = s.answer(o)
	}
	return o.segment
}

// answer returns the send in place of one that answers an element: that of the element which was
// received in its place, nil for none. A server that received b where it had received a in the
// recording sends the answer to b there, to the channel of b's client. Without this it would answer
// a client that has not asked, and the one that has would wait for ever. It is nil where the
// recording ends before b's answer, and the send itself where nothing else was received.
func (s *Simulation) answer(o *instruction) *instruction {
	e := s.took[o.ref]
	if e == 0 {
		return o
	}
	if at := s.x.answers[e]; at >= 0 {
		return &s.code[at]
	}
	return nil
}
