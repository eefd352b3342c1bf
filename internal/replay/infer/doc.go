// Package infer finds what else a recording does not show: which waits are for one object and who
// serves it, what is handed over with an element, who writes what comes from a connection, rate
// limiters and tickers, what select statements would choose, and from where goroutines begin anew.
//
// A recording is one schedule. The question is what another schedule of the same program would be,
// and that needs what decides: a lock, a channel, a timer, a connection. Each rule here looks for
// one such thing, and puts it in the place of the waits that it explains. What no rule explains
// stays as it was recorded: a wait for another goroutine for the same wake-up, a wait for something
// outside for as long as it was. Such a wait is right about nothing changed, and may be wrong about
// everything else; package replay bounds it.
//
// Terms:
//
//   - A list is what one goroutine did, in order, and an op is one step of it.
//   - A token is the recorded order: one OpWait takes it, one OpWake gives it.
//   - A hand-over is a wait that another goroutine ended; its ends are the waiter and the waker.
//   - A site is a call stack, with number 0 where there is none. A place in the program is a frame
//     of it, so that two sites may be of one place.
//   - A segment is where the work on one element of a channel begins.
//   - A head is a receive of a goroutine that serves: it goes on with the work of the element that
//     it gets, in whichever list that was recorded.
//   - Behind a free op no span is open and no lock is held; behind a loose op no lock is held.
//
// All times are in ns. Op.At is on the recording's clock; times since the window's beginning are
// named so. Op.D of an operation has three meanings before the lists are done. Of an operation that
// waits for a lock it is the length of the wait. Of a send or a receive it is the time at which the
// operation began, until match sets it to 0. Of a send that this package puts in it is how long the
// element is on its way.
//
// A [model.Place] is a number of an op, valid until ops are put in or taken out before it. For that
// reason the order of the rules is fixed: see the tables in rules.go.
//
// How much evidence a rule takes differs, since what an error costs does. The strict ones take 20
// cases and 19 in 20 of them (hidden.LeastHandovers, hidden.Fairness, model.Agreeing). By the bound
// of Clopper and Pearson 20 of 20 leave a rule that is right in 86 % of all cases at least, and 19
// of 20 one that is right in 78 %, both with a one-sided confidence of 95 %. Rules about timers and
// the network, whose ends are late themselves, take nine in ten. A rule that is wrong all the same
// mostly shows in the replay of nothing changed, which then misses the recorded period by more than
// doubt.MaxDeviation.
package infer
