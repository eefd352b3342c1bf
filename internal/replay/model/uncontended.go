package model

// busy follows for how long a lock is held and waited for, ns.
type busy struct {
	Total, Waited int64
	Since         int64 // when it was locked
	By            int32 // how many hold it
	taken, waits  int   // how often it was, and how often a goroutine had to wait
}

// A lock that is held for a part u of the time, and taken n times at times that do not depend on
// that, is found held n u times: arrivals at random see time averages (Wolff, Poisson Arrivals See
// Time Averages, 1982). Where hardly any goroutine had to wait though many should have, they do
// depend on it: what guards the goroutines is something else. A pool gives each connection, with
// its lock, to one goroutine at a time. Two goroutines that take turns in step come to the same
// figures, and would meet if one of them were faster: package infer holds these apart, in
// uncontended_turns.go. TestOwnLocksAreSetAside has all three.

const (
	// likely is how often goroutines should have waited for a lock that is held for that long, if
	// they came at any time, to show that they cannot: only goroutines that have something else,
	// such as a connection of a pool, come at all. With fewer, no wait at all could be chance.
	likely = 20
	// owned is which part of these waits there may be then: one of twenty, as where the goroutine
	// that gives a connection back still holds its lock.
	owned = 0.05
	// LeastSubstituted is which part of the operations that take it there must be where the
	// goroutine takes other such locks, too: the first of several while it has a connection.
	LeastSubstituted = 0.1
)

// Own reports whether goroutines that come to a lock in a window of such a length, ns, seem to have
// it for themselves. If they do by something else, which one they have is an accident of the
// recording: in the replay several may have the same. See substituted in package infer.
func (b *busy) Own(length int64) bool {
	should := float64(b.taken) * float64(b.Total) / float64(max(1, length))
	return should >= likely && float64(b.waits) <= owned*should
}

// locked books that a goroutine has the lock. Several readers of an RWMutex at a time hold it once.
func (b *busy) locked(at int64) {
	b.taken++
	if b.By++; b.By == 1 {
		b.Since = at
	}
}

// unlocked takes a lock for one that was held since the window's start if it was not seen to be
// locked.
func (b *busy) unlocked(at, start int64) {
	if b.By == 0 {
		b.Total += at - start
		return
	}
	if b.By--; b.By == 0 {
		b.Total += at - b.Since
	}
}
