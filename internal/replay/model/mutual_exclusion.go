package model

// Mutual exclusion of spans: a hypothesis, not a finding. A stock trace does not show a lock that
// no goroutine waited for. Where spans of some regions were never open at the same time, though by
// chance they would have been, package hidden takes it that there may be one lock around all of
// them (Recording.Excluded). This file builds the program with that lock. It bounds the answer from
// one side, the program without the lock from the other one. If the spans were apart for another
// reason, as where one goroutine waits for the other, the lock changes nothing.
//
// The lock is held from a goroutine's first span of these regions to the end of its last one:
//
//	span a   |-----------|
//	span b       |-----------|        within the lock of a, which it does not take again
//	lock     L---------------U
//
// Go's mutexes are not reentrant, so that without the count a goroutine would wait for itself.

// excludes takes the lock around the spans of a region, or gives it back with the last of them. By
// is 1 where a span begins, before its op, and -1 where it ends, behind it: the wait for the lock
// is no part of the region, which cannot make it shorter.
func (b *Builder) excludes(g, span, by int32, at int64) {
	lock, ok := b.P.Rec.Excluded[b.P.Rec.Spans[span].Region]
	if !ok {
		return
	}
	f := &b.G[g]
	if f.excludes == nil {
		f.excludes = map[int32]int32{}
	}
	// A span from before the window ends without having begun, which counts for nothing.
	before := f.excludes[lock]
	f.excludes[lock] = max(0, before+by)
	if (before > 0) == (f.excludes[lock] > 0) {
		return
	}
	object, ok := b.excluders[lock]
	if !ok {
		object = b.NewObject(ObjectInfo{Kind: ObjectMutex})
		if b.excluders == nil {
			b.excluders = map[int32]int32{}
		}
		b.excluders[lock] = object
	}
	kind := OpLock
	if by < 0 {
		kind = OpUnlock
	}
	// A list must not begin anew while it holds the lock: it would take it twice.
	f.held += by
	b.emit(g, Op{Kind: kind, Arg: object, At: at, Late: -1})
}
