package replay

import "slices"

// incidental is which part of the window a lock must be held or waited for, to matter.
const incidental = 0.01

// busy follows for how long a lock is held and waited for, ns.
type busy struct {
	total, waited int64
	since         int64 // when it was locked
	by            int32 // how many hold it
	taken, waits  int   // how often it was, and how often a goroutine had to wait
}

const (
	// likely is how often goroutines should have waited for a lock that is held for that long, if they came at any time, to show that
	// they cannot: only goroutines that have something else, such as a connection of a pool, come at all.
	likely = 20
	// owned is which part of these waits there may be then.
	owned = 0.05
	// leastSubstituted is which part of the operations that take it there must be where the goroutine takes other such locks, too: the first
	// of several while it has a connection.
	leastSubstituted = 0.1
)

// own reports whether goroutines that come to a lock seem to have it for themselves. If they do by something else, which one they have is
// an accident of the recording: in the replay several may have the same. See substituted.
func (b *busy) own(length int64) bool {
	should := float64(b.taken) * float64(b.total) / float64(max(1, length))
	return should >= likely && float64(b.waits) <= owned*should
}

func (b *busy) locked(at int64) {
	b.taken++
	if b.by++; b.by == 1 {
		b.since = at
	}
}

// unlocked takes a lock for one that was held since the window's start if it was not seen to be locked.
func (b *busy) unlocked(at, start int64) {
	if b.by == 0 {
		b.total += at - start
		return
	}
	if b.by--; b.by == 0 {
		b.total += at - b.since
	}
}

// setAside takes locks out of the lists that goroutines have for themselves, and locks that are held so seldom, and waited for so little, that which
// one had them when is an accident of the recording: they decide nothing, but what others decide anew could be held up by their order. Waits for
// them last as long as they did. Locks that are waited for at one place, such as one of each request, count together.
func (b *builder) setAside() {
	little := incidental * float64(b.p.rec.End-b.p.rec.Start)
	of := b.p.usedAt()
	waited := map[int32]int64{}
	for i := range b.p.objects {
		waited[of[b.p.objects[i].site]] += b.levels[i].busy.waited
	}
	aside, own := make([]bool, len(b.p.objects)), make([]bool, len(b.p.objects))
	for i := range b.p.objects {
		o, busy := &b.p.objects[i], &b.levels[i].busy
		if busy.by > 0 {
			busy.total += b.p.rec.End - busy.since
		}
		if o.inferred || o.kind != objectMutex && o.kind != objectRWMutex || busy.waited > 0 && float64(waited[of[o.site]]) > little {
			continue
		}
		aside[i] = float64(busy.total) <= little
		own[i] = !aside[i] && o.kind == objectMutex && busy.own(b.p.rec.End-b.p.rec.Start)
	}
	if slices.Contains(own, true) {
		for i, part := range b.p.substituted(own) {
			aside[i] = aside[i] || own[i] && part > leastSubstituted
		}
	}
	for g := range b.p.lists {
		l := &b.p.lists[g]
		for k := range l.ops {
			o := &l.ops[k]
			if !o.isLocking() || !aside[o.arg] {
				continue
			}
			o.kind, o.arg = opRun, 0
			if o.d > 0 {
				o.kind, o.reason = opOut, waitMutex
				o.set = 0 // nothing makes that shorter
			}
		}
		l.merge()
	}
}

// merge makes one op of successive ones that compute.
func (l *list) merge() {
	kept := 0
	for k := range l.ops {
		o := &l.ops[k]
		if o.kind == opRun {
			if o.d == 0 {
				continue
			}
			if kept > 0 && l.ops[kept-1].kind == opRun && l.ops[kept-1].set == o.set {
				o.d += l.ops[kept-1].d
				kept--
			}
		}
		if kept < k {
			l.ops[kept] = *o
		}
		kept++
	}
	l.ops = l.ops[:kept]
}

func (o *op) isLocking() bool {
	switch o.kind {
	case opLock, opUnlock, opWriteLock, opWriteUnlock, opReadLock, opReadUnlock:
		return true
	}
	return false
}
