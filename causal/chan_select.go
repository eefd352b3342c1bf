package causal

import (
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/clock"
)

// Receiving is for receiving in a select statement. Call it there, each time, since that notes
// when the goroutine begins to wait; and give what comes to [Chan.Received], first of all.
//
//	select {
//	case it := <-jobs.Receiving():
//		job, ok := jobs.Received(it)
//		…
//	case <-ctx.Done():
//		…
//	}
//
// Where [Chan.ReceiveContext] is enough, it is simpler, and surer: if both sides are in a select
// statement, a sender that has waited may go on before it is known which goroutine has received.
func (c Chan[T]) Receiving() <-chan Item[T] {
	if o := c.observed(); o != nil {
		c.table.Arrive(o, o.Ledger(), clock.Now())
	}
	c.marks().Select()
	return c.items
}

// Received returns the value of an item that came from [Chan.Receiving] of this channel, and
// whether there is one: ok is false if c is closed and empty.
func (c Chan[T]) Received(it Item[T]) (v T, ok bool) {
	c.marks().Received(it.letter != nil, cap(c.items))
	if o := c.observed(); o != nil {
		c.table.Selected(o, o.Ledger(), it.letter, len(c.items))
	}
	return it.value, it.letter != nil
}

// Item returns v as something to send in a select statement, see [Chan.Sending]. In an experiment
// of [profile.ModeOverlap] it allocates.
func (c Chan[T]) Item(v T) Item[T] {
	o := c.observed()
	if o == nil {
		return Item[T]{v, &virtualtime.Unstamped}
	}
	// Its fate is unknown, so it is left to the garbage collector.
	x := &virtualtime.Letter{At: clock.Now(), Readers: 3}
	o.Stamp(o.Ledger(), x.At, &x.Sent)
	return Item[T]{v, x}
}

// Sending is for sending in a select statement. Make the item just before it, each time, since
// that notes when the goroutine begins to wait; and call [Chan.Sent], first of all, when it was
// sent.
//
//	it := results.Item(r)
//	select {
//	case results.Sending() <- it:
//		results.Sent(it)
//		…
//	case <-ctx.Done():
//		…
//	}
//
// Where [Chan.SendContext] is enough, it is simpler.
func (c Chan[T]) Sending() chan<- Item[T] {
	c.marks().Select()
	return c.items
}

// Sent notes that an item was sent to [Chan.Sending] of this channel. In an experiment that
// inserts delays, the goroutine makes up for what it owes first.
func (c Chan[T]) Sent(it Item[T]) {
	c.marks().Sent(cap(c.items))
	o := c.observed()
	if o == nil || it.letter == nil || it.letter == &virtualtime.Unstamped {
		return
	}
	l := o.Ledger()
	c.table.SentSelected(o, l, it.letter, len(c.items))
	o.PayNow(l)
}
