// Package simulator runs made-up programs in a world where time is a number: goroutines, CPUs,
// timers, locks and queues, all in one thread and the same on each run. The goroutines keep
// the ledgers of package ledger as real ones would, so the effects that the ledgers
// predict can be held against the truth: the same program run again with the region really
// shorter.
//
// It is for tests only. Times are in nanoseconds since the world began. Nothing here may be
// used by two real goroutines at once.
package simulator
