package model

// busy follows for how long a lock is held and waited for, ns.
type busy struct {
	Total, Waited int64
	Since         int64 // when it was locked
	By            int32 // how many hold it
	taken, waits  int   // how often it was, and how often a goroutine had to wait
}

const (
	// likely is how often goroutines should have waited for a lock that is held for that long, if
	// they came at any time, to show that they cannot: only goroutines that have something else,
	// such as a connection of a pool, come at all.
	likely = 20
	// owned is which part of these waits there may be then.
	owned = 0.05
	// LeastSubstituted is which part of the operations that take it there must be where the
	// goroutine takes other such locks, too: the first of several while it has a connection.
	LeastSubstituted = 0.1
)

// Own reports whether goroutines that come to a lock seem to have it for themselves. If they do by
// something else, which one they have is an accident of the recording: in the replay several may
// have the same. See substituted.
func (b *busy) Own(length int64) bool {
	should := float64(b.taken) * float64(b.Total) / float64(max(1, length))
	return should >= likely && float64(b.waits) <= owned*should
}

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
