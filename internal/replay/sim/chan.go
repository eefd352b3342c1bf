package sim

// clear empties the channels of the requests that a list has made, except channels that goroutines
// wait for.
func (s *Simulation) clear(list int32) {
	for _, i := range s.P.Lists[list].Leaves {
		if b := &s.objects[i]; b.queue.len() == 0 && b.others.len() == 0 {
			b.begin(&s.P.Objects[i])
		}
	}
}

// channel returns an object, or the one that is used in its place.
func (s *Simulation) channel(i int32) *object { return &s.objects[s.standIn[i]] }

// serveOn has a goroutine whose list is over take the next element, or reports that it must wait
// for one.
func (s *Simulation) serveOn(i int32, o *instruction) bool {
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

// send gives an element to the first that waits for one, or to the buffer, or reports that there is
// no room.
func (s *Simulation) send(b *object, element, proc int32) bool {
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
func (s *Simulation) receive(b *object, proc int32) (element int32, ok bool) {
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
func (s *Simulation) sentBy(i int32) int32 {
	o := &s.code[s.runners[i].pc]
	if o.answers() {
		o = s.answer(o)
	}
	return o.segment
}

// answer returns the send in place of one that answers an element: that of the element which was
// received in its place, nil for none.
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
