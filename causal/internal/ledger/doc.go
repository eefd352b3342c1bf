// Package ledger keeps the virtual time of goroutines in an experiment that delays them: the time
// it would be for each of them if a region of the program took less time than it does.
//
// A [Ledger] belongs to one goroutine and holds, for the [Hypothesis] of the [Setting] in force, a
// credit L: what the goroutine would have saved by now, and what delay it has paid. Its
// virtual time is v = t - L. While the region is open, L grows by the speed-up;
// when one goroutine waits for another, it takes over the other's virtual time with a [Stamp]. The
// rest of the time L stays as it is.
//
// Nothing here reads a clock, waits, or knows how goroutines are distinguished: times are
// arguments, in nanoseconds since any fixed moment. So the simulator of the tests runs this very
// code. A ledger's methods may be called by any goroutine; none but [Ledger.Pay] waits
// for anything but the ledger's own short lock.
package ledger
