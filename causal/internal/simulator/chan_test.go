package simulator

import (
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/mark"
)

// A Chan is a queue with room for some elements, or for none: then a sender waits for its
// receiver. Make one with [NewChan].
type Chan[T any] struct {
	buffer    []element[T]
	slots     []ledger.Stamp // of places that are free
	senders   []*party[T]
	receivers []*party[T]
	closed    bool
	closing   ledger.Stamp
	places    int64 // in the buffer
	number    uint64
}

// element is a value in the queue, with the stamp of its sender.
type element[T any] struct {
	value T
	stamp ledger.Stamp
}

// party is one that waits. For a receiver the element is what it gets, for a sender what it gives.
type party[T any] struct {
	g    *Goroutine
	here ledger.Stamp // of its arrival
	element[T]
	from   *Chan[T]     // nil while the wait goes on
	closed bool         // the wait is over since the channel was closed
	late   bool         // the wait is over since it took too long
	taken  ledger.Stamp // for a sender: of the place, or of the receiver
}

// NewChan returns a channel with room for n elements.
func NewChan[T any](n int) *Chan[T] {
	return &Chan[T]{slots: make([]ledger.Stamp, n), places: int64(n)}
}

// Send gives a value to the channel.
func (c *Chan[T]) Send(g *Goroutine, value T) {
	g.payFirst()
	at := g.Now()
	if r := c.receiver(); r != nil {
		c.operate(g, mark.Send)
		if len(c.slots) > 0 {
			// The element goes through the buffer without rest.
			slot := &c.slots[0]
			c.acquireSlot(g, at, slot, false)
			g.stamp(&r.stamp)
			slot.Merge(&r.here)
			slot.Merge(&r.stamp)
			c.slots = append(c.slots[1:], *slot)
		} else {
			g.stamp(&r.stamp) // of the arrival: the later of the two need not wait
			c.acquireSlot(g, at, &r.here, false)
		}
		r.value, r.from = value, c
		g.world.ready(r.g)
		return
	}
	if len(c.slots) > 0 {
		c.operate(g, mark.Send)
		c.acquireSlot(g, at, &c.slots[0], false)
		c.slots = c.slots[1:]
		e := element[T]{value: value}
		g.stamp(&e.stamp)
		c.buffer = append(c.buffer, e)
		return
	}
	s := &party[T]{g: g, element: element[T]{value: value}}
	g.stamp(&s.stamp)
	g.arrive(at)
	c.senders = append(c.senders, s)
	c.operate(g, mark.Send.Beginning())
	g.park()
	c.operate(g, mark.Send)
	c.acquireSlot(g, at, &s.taken, true)
}

func (c *Chan[T]) operate(g *Goroutine, what mark.Op) {
	g.world.tape.operate(g, what, &c.number, c.places)
}

func (c *Chan[T]) acquireSlot(g *Goroutine, at int64, st *ledger.Stamp, waited bool) {
	if g.world.without(Slots) {
		st = &ledger.Stamp{}
	}
	g.acquire(at, st, waited)
}

// Receive takes a value. It returns false when the channel is closed and empty.
func (c *Chan[T]) Receive(g *Goroutine) (value T, ok bool) {
	value, _, ok = Select(g, c)
	return value, ok
}

// Close says that nothing more will come.
func (c *Chan[T]) Close(g *Goroutine) {
	g.payFirst()
	c.operate(g, mark.Close)
	c.closed = true
	g.stamp(&c.closing)
	for r := c.receiver(); r != nil; r = c.receiver() {
		r.stamp, r.from, r.closed = c.closing, c, true
		g.world.ready(r.g)
	}
}

// Select takes a value from one of the channels, a random one if several have one. It returns
// which one that was, and false if that is closed and empty.
func Select[T any](g *Goroutine, chans ...*Chan[T]) (value T, from int, ok bool) {
	g.payFirst() // for the place that becomes free
	at := g.Now()
	first := 0
	if len(chans) > 1 {
		first = g.world.noise.IntN(len(chans))
	}
	for i := range chans {
		i = (i + first) % len(chans)
		c := chans[i]
		switch {
		case len(c.buffer) > 0 || len(c.senders) > 0:
			value = c.take(g, at)
			c.operate(g, mark.Receive)
			return value, i, true
		case c.closed:
			c.operate(g, mark.Closed)
			g.acquire(at, &c.closing, false)
			return value, i, false
		}
	}
	self := &party[T]{g: g}
	g.stamp(&self.here)
	g.arrive(at)
	for _, c := range chans {
		c.receivers = append(c.receivers, self)
	}
	if len(chans) == 1 {
		chans[0].operate(g, mark.Receive.Beginning())
		g.park()
	} else {
		choose(g, chans...)
	}
	g.acquire(at, &self.stamp, true)
	for i, c := range chans {
		if c == self.from {
			if self.closed {
				c.operate(g, mark.Closed)
			} else {
				c.operate(g, mark.Receive)
			}
			return self.value, i, !self.closed
		}
	}
	panic("simulator: select: woken without a case")
}

// choose waits in a select statement.
func choose[T any](g *Goroutine, chans ...*Chan[T]) {
	for _, c := range chans {
		c.operate(g, mark.Select.Beginning())
	}
	g.chooses = true
	g.park()
	g.chooses = false
}

// TryReceive takes a value if that need not wait. Otherwise, and if the channel is closed and
// empty, it returns false.
func (c *Chan[T]) TryReceive(g *Goroutine) (value T, ok bool) {
	if len(c.buffer) == 0 && len(c.senders) == 0 {
		return value, false
	}
	return c.Receive(g)
}

// ReceiveWithin takes a value unless none comes for so long; late tells that. The channel must
// never be closed.
func (c *Chan[T]) ReceiveWithin(g *Goroutine, ns int64) (value T, late bool) {
	if value, ok := c.TryReceive(g); ok {
		return value, false
	}
	at := g.Now()
	self := &party[T]{g: g}
	g.stamp(&self.here)
	g.arrive(at)
	c.receivers = append(c.receivers, self)
	g.world.after(ns, func() {
		if self.from == nil {
			self.from, self.late = c, true
			g.world.ready(g)
		}
	})
	choose(g, c)
	if self.late {
		c.operate(g, mark.Select)
		return value, true
	}
	g.acquire(at, &self.stamp, true)
	c.operate(g, mark.Receive)
	return self.value, false
}

// take takes a value that is there.
func (c *Chan[T]) take(g *Goroutine, at int64) T {
	if len(c.buffer) == 0 {
		s := c.sender()
		g.stamp(&s.taken)
		g.acquire(at, &s.stamp, false)
		g.world.ready(s.g)
		return s.value
	}
	e := c.buffer[0]
	c.buffer = c.buffer[1:]
	g.acquire(at, &e.stamp, false)
	var slot ledger.Stamp
	g.stamp(&slot)
	if len(c.senders) == 0 {
		c.slots = append(c.slots, slot)
		return e.value
	}
	// The element of the first one that waits moves up: it is there since its sender is, and
	// since there is a place for it.
	s := c.sender()
	s.taken = slot
	if !g.world.without(Slots) {
		s.stamp.Merge(&slot)
	}
	c.buffer = append(c.buffer, s.element)
	g.world.ready(s.g)
	return e.value
}

// sender returns the first one that waits.
func (c *Chan[T]) sender() *party[T] {
	s := c.senders[0]
	c.senders = c.senders[1:]
	return s
}

// receiver returns the first one that still waits, or nil.
func (c *Chan[T]) receiver() *party[T] {
	for len(c.receivers) > 0 {
		r := c.receivers[0]
		c.receivers = c.receivers[1:]
		if r.from == nil {
			return r
		}
	}
	return nil
}
