package traced

import "github.com/otelprof/otelprof/internal/mark"

// A Chan is what the operations on a channel are written as. They take the channel as an argument,
// and may also be called without a Chan: then nothing is written.
type Chan struct{ object mark.Object }

// traced reports whether operations on c are to be written.
func (c *Chan) traced() bool { return c != nil && enabled() }

// Send sends v.
func Send[T any](c *Chan, to chan<- T, v T) {
	if !c.traced() {
		to <- v
		return
	}
	c.object.Begin(mark.Send, cap(to))
	to <- v
	c.object.Done(mark.Send, cap(to))
}

// SendOr sends v unless done is closed before. It reports whether it did. If both can be, either
// may happen.
func SendOr[T any](c *Chan, to chan<- T, v T, done <-chan struct{}) (sent bool) {
	if done == nil {
		Send(c, to, v)
		return true
	}
	traced := c.traced()
	if traced {
		c.Select()
	}
	select {
	case to <- v:
		sent = true
	case <-done:
	}
	if traced {
		c.tried(sent, cap(to))
	}
	return sent
}

// TrySend sends v if that can be done without waiting, and reports whether it did.
func TrySend[T any](c *Chan, to chan<- T, v T) (sent bool) {
	traced := c.traced()
	if traced {
		c.Select() // before it takes effect: the receiver may be faster with its mark
	}
	select {
	case to <- v:
		sent = true
	default:
	}
	if traced {
		c.tried(sent, cap(to))
	}
	return sent
}

// Receive receives from a channel; ok is false if it is closed and empty.
func Receive[T any](c *Chan, from <-chan T) (v T, ok bool) {
	if !c.traced() {
		v, ok = <-from
		return v, ok
	}
	select {
	case v, ok = <-from:
	default:
		c.object.Begin(mark.Receive, cap(from))
		v, ok = <-from
	}
	c.received(ok, cap(from))
	return v, ok
}

// ReceiveOr receives from a channel unless done is closed before. It reports whether it did. If
// both can be, either may happen.
func ReceiveOr[T any](c *Chan, from <-chan T, done <-chan struct{}) (v T, ok, received bool) {
	if done == nil {
		v, ok = Receive(c, from)
		return v, ok, true
	}
	traced := c.traced()
	if traced {
		if v, ok, received = TryReceive(c, from); received {
			return v, ok, true
		}
		c.Select()
	}
	select {
	case v, ok = <-from:
		received = true
	case <-done:
	}
	switch {
	case !traced:
	case received:
		c.received(ok, cap(from))
	default:
		mark.LogNone()
	}
	return v, ok, received
}

// TryReceive receives from a channel if that can be done without waiting, and reports whether it
// did.
func TryReceive[T any](c *Chan, from <-chan T) (v T, ok, received bool) {
	select {
	case v, ok = <-from:
	default:
		return v, false, false
	}
	if c.traced() {
		c.received(ok, cap(from))
	}
	return v, ok, true
}

// Close closes a channel.
func Close[T any](c *Chan, ch chan<- T) {
	if c.traced() {
		c.object.Done(mark.Close, 0)
	}
	close(ch)
}

// Select is called before a select statement with an operation on the channel. One that
// another of its cases ends needs no end: the goroutine's next event ends it.
func (c *Chan) Select() {
	if c.traced() {
		c.object.Begin(mark.Select, 0)
	}
}

// Sent is called after a select statement that has sent to a channel of this capacity.
func (c *Chan) Sent(capacity int) {
	if c.traced() {
		c.object.Done(mark.Send, capacity)
	}
}

// Received is called after a select statement that has received from a channel of this capacity; ok
// is false if it was closed and empty.
func (c *Chan) Received(ok bool, capacity int) {
	if c.traced() {
		c.received(ok, capacity)
	}
}

func (c *Chan) received(ok bool, capacity int) {
	if ok {
		c.object.Done(mark.Receive, capacity)
	} else {
		c.object.Done(mark.Closed, 0)
	}
}

// tried ends a select that has sent or done nothing.
func (c *Chan) tried(sent bool, capacity int) {
	if sent {
		c.object.Done(mark.TrySend, capacity)
	} else {
		mark.LogNone()
	}
}
