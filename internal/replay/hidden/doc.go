// Package hidden finds operations on locks, channels and condition variables that a trace of an
// unmodified program does not mark: what goroutines do between two landmarks each time, such that
// all waits are explained and none is contradicted.
//
// # What a stock trace lacks
//
// The runtime writes an event where a goroutine parks, and where another one makes it ready (GoPark
// and GoUnpark in runtime/traceruntime.go). Lock of a free [sync.Mutex] is one compare-and-swap
// (internal/sync/mutex.go), and a send into a buffer with room wakes no goroutine (chansend in
// runtime/chan.go): neither leaves an event. So a stock trace holds the contended operations alone.
// A replay of those alone keeps the recorded contention: two goroutines that did not meet at a lock
// never meet there, however much sooner one of them comes, and a speed-up has no next bottleneck.
//
// # How the others are found
//
// By hypothesis and test. Code that has waited once between two landmarks, the end of a span and
// the beginning of the next one for instance, performs the operation there each time it runs.
//
//	goroutine 1   close(a)  Lock? Unlock  open(b)     Unlock ends a wait, so it is seen
//	goroutine 2   close(a)  Lock~~~~Lock  open(b)     it waits (~), so it is seen
//	goroutine 3   close(a)  Lock?         open(b)     neither: inferred from the other two
//
// The operations, seen and inferred, are then gone through in order as those of one lock or one
// channel. A goroutine that waits for a lock that is free, or passes one that is held, contradicts
// the hypothesis. Above 5 % of contradictions it is dropped, and the replay has the recorded waits
// only. A second test stands outside of this package: the replay of the completed recording, with
// nothing changed, must meet the recording as any other does.
//
// The files: ops.go reads landmarks and seen operations, explain.go searches, assume.go has the
// hypotheses, check.go and locking.go the tests. lock_sharding.go, cond.go and waiters.go are for
// several locks at one place, for condition variables, and for pools that list their waiters;
// merge.go writes the result. mutual_exclusion.go and turns.go stand alone: locks around whole
// spans, and the test of first come, first served that other packages use, too.
package hidden
