// Package model makes a recording a program: for each goroutine a list of operations (computing,
// waiting, operating on an object, spans that begin and end), objects (locks, channels and the
// like), and what inference finds about both. [Builder] translates what is recorded; packages
// hidden, cond, infer and doubt find the rest, and package sim replays it.
//
// A translation has stages, which are tables of rules in package infer. Those of this package:
//
//	events    Builder.Event, Builder.Full            a list of ops for each goroutine
//	edges     Punctual, FromOutside, Before          waits that the trace has cut, or late
//	places    Settle                                 how late goroutines ran
//
// Later stages have no builder. They edit the lists, and find where these begin anew.
//
// A wait that another goroutine ended is first a token: OpWait takes it, OpWake gives it. That
// keeps the recorded order (a happens-before edge). Where an object is known, its operations take
// the place of both, and the replay decides the order anew. Each rule either drops both sides of a
// token or neither: a wait without its wake-up never ends.
//
// Times are ns on the recording's clock, unless they are since the window's beginning. Durations
// are ns, parts are shares of 1. A [Place] is an index into a list. It holds until ops are inserted
// or dropped before it, so that each stage finds its places anew.
package model
