package hidden

import (
	"github.com/otelprof/otelprof/internal/mark"
)

// releases reports whether an operation may let another one go on.
func releases(release, acquire mark.Op) bool {
	switch acquire {
	case mark.Lock:
		return release == mark.Unlock
	case mark.WriteLock: // behind a writer, and behind the readers that were there before
		return release == mark.WriteUnlock || release == mark.ReadUnlock
	case mark.ReadLock:
		return release == mark.WriteUnlock
	case mark.Await:
		return release == mark.Signal || release == mark.Broadcast
	}
	return false
}

// pairs returns for each place where an RWMutex is given back the place where it is taken: by the
// same goroutines, right before. Readers and writers may wait for each other and never among
// themselves.
func (t *Traces) pairs() map[int32]int32 {
	taken := map[mark.Op]mark.Op{mark.WriteUnlock: mark.WriteLock, mark.ReadUnlock: mark.ReadLock}
	counts := map[int32]map[int32]int{}
	for g := range t.steps {
		last := map[mark.Op]int32{}
		for _, s := range t.steps[g] {
			if s.action < 0 {
				continue
			}
			slot := t.actions[s.action].slot
			what := t.slots[slot].what
			last[what] = slot
			if acquire, ok := last[taken[what]]; ok {
				if counts[slot] == nil {
					counts[slot] = map[int32]int{}
				}
				counts[slot][acquire]++
			}
		}
	}
	pairs := map[int32]int32{}
	for release, of := range counts {
		best := int32(-1)
		for acquire, n := range of {
			if best < 0 || n > of[best] || n == of[best] && acquire < best {
				best = acquire
			}
		}
		pairs[release] = best
	}
	return pairs
}

// isLock reports whether an operation is one on a lock.
func isLock(what mark.Op) bool {
	switch what {
	case mark.Lock, mark.Unlock, mark.WriteLock, mark.WriteUnlock, mark.ReadLock, mark.ReadUnlock:
		return true
	}
	return false
}

// A lockState is what is known of a lock, as the operations on it are gone through in order.
type lockState struct {
	known   bool  // what it was at first no longer matters
	writer  int32 // the holder, -1 if it is free
	readers map[int32]bool
	waiting map[int32]bool // writers
}

// nobody stands for no goroutine: the holder of a lock that is free.
const nobody = -1

// contradicts follows an operation, or the beginning of a wait, and reports whether it cannot be
// where it is.
func (s *lockState) contradicts(e *Incident) bool {
	wrong := false
	switch e.what {
	case mark.Lock.Beginning(), mark.WriteLock.Beginning():
		wrong = s.known && s.writer == nobody && len(s.readers) == 0 && len(s.waiting) == 0
		if e.what == mark.WriteLock.Beginning() {
			s.waiting[e.g] = true
		}
	case mark.ReadLock.Beginning():
		wrong = s.known && s.writer == nobody && len(s.waiting) == 0
	case mark.Lock, mark.WriteLock:
		wrong = s.writer != nobody || len(s.readers) > 0
		s.known, s.writer = true, e.g
		clear(s.readers)
		delete(s.waiting, e.g)
	case mark.ReadLock:
		wrong = s.writer != nobody
		s.readers[e.g] = true
	case mark.Unlock, mark.WriteUnlock:
		wrong = s.known && s.writer != e.g
		if !wrong {
			s.known, s.writer = true, nobody
		}
	case mark.ReadUnlock:
		wrong = s.known && !s.readers[e.g]
		delete(s.readers, e.g)
	}
	return wrong
}

// locks holds the operations against those of one lock: for one goroutine at a time, or for any
// that read.
func (x *explanation) locks() float64 {
	state := lockState{writer: nobody, readers: map[int32]bool{}, waiting: map[int32]bool{}}
	wrong, all := 0, x.incidents()
	for i := range all {
		x.t.rec.RestsAt(i)
		if state.contradicts(&all[i]) {
			wrong++
		}
	}
	return float64(wrong) / float64(max(1, len(all)))
}
