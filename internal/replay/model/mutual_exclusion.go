package model

// excludes takes the lock around the spans of a region, or gives it back with the last of them.
func (b *Builder) excludes(g, span, by int32, at int64) {
	lock, ok := b.P.Rec.Excluded[b.P.Rec.Spans[span].Region]
	if !ok {
		return
	}
	f := &b.G[g]
	if f.excludes == nil {
		f.excludes = map[int32]int32{}
	}
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
	f.held += by
	b.emit(g, Op{Kind: kind, Arg: object, At: at, Late: -1})
}
