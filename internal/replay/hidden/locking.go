package hidden

import (
	"github.com/otelprof/otelprof/internal/mark"
)

// The rules of sync.Mutex and sync.RWMutex, by which seen and assumed operations are checked. They
// are the weaker half of those in package sim: here the order is given, and only what no lock of Go
// allows is a contradiction. Who gets a free lock is left open, since Mutex lets a goroutine that
// comes overtake one that was woken (barging, lockSlow in internal/sync/mutex.go).
//
//	sync.Mutex          one at a time; an Unlock wakes the first in the queue
//	sync.RWMutex        a writer alone, or any number of readers; a writer that waits keeps new
//	                    readers out until it has been in (sync/rwmutex.go)
//
// Not modelled: a lock that one goroutine takes and another one gives back, which Go allows, and
// recursive read locks, which the documentation of RLock forbids. Both contradict, so such a lock
// keeps its recorded waits. TryLock never waits, so a place that only tries is never seen; its
// Unlock may be, and contradicts.

// releases reports whether an operation may let another one go on. By it a wake-up is kept apart
// from one at the same place that has nothing to do with the lock, such as that of a WaitGroup.
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
// themselves: readers wait at RLock for Unlock, writers at Lock for RUnlock. So meetings join RLock
// to Unlock and Lock to RUnlock, and nothing yet joins RLock to RUnlock, which are of one lock. The
// most frequent place counts, of several the one with the least number.
func (t *Traces) pairs() map[int32]int32 {
	taken := map[mark.Op]mark.Op{mark.WriteUnlock: mark.WriteLock, mark.ReadUnlock: mark.ReadLock}
	counts := map[int32]map[int32]int{}
	for g := range t.steps {
		last := map[mark.Op]int32{} // slot of the last one of each operation
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
		pairs[release], _, _ = usual(of)
	}
	return pairs
}

// isLock reports whether an operation is one on a lock, which may have another test than a channel.
func isLock(what mark.Op) bool {
	switch what {
	case mark.Lock, mark.Unlock, mark.WriteLock, mark.WriteUnlock, mark.ReadLock, mark.ReadUnlock:
		return true
	}
	return false
}

// A lockState is what is known of a lock, as the operations on it are gone through in order. A
// Mutex has writers only.
type lockState struct {
	known   bool           // what it was at first no longer matters
	writer  int32          // the holder, -1 if it is free, as far as known
	readers map[int32]bool // goroutines that have it to read
	waiting map[int32]bool // writers
}

// The holder of a lock that is free: no goroutine has this number.
const nobody = -1

// contradicts follows an operation, or the beginning of a wait, and reports whether it cannot be
// where it is. Until the lock was first taken or given back by a writer it may have any holder:
// what depends on that contradicts nothing.
//
// It goes on with the operation done, so that one that is misplaced counts a few times and not
// until the window ends; only an Unlock by a goroutine that has not the lock is passed over.
func (s *lockState) contradicts(e *Incident) bool {
	wrong := false
	switch e.what {
	// A goroutine waits only for one that has the lock, or a writer that is before it.
	case mark.Lock.Beginning(), mark.WriteLock.Beginning():
		wrong = s.known && s.writer == nobody && len(s.readers) == 0 && len(s.waiting) == 0
		if e.what == mark.WriteLock.Beginning() {
			s.waiting[e.g] = true
		}
	// Readers do not wait for readers (readerCount of sync.RWMutex is below 0 for a writer alone).
	case mark.ReadLock.Beginning():
		wrong = s.known && s.writer == nobody && len(s.waiting) == 0
	// It is taken while it is free. That a reader passes a writer that waits is let go: how far
	// such a writer has come is not recorded.
	case mark.Lock, mark.WriteLock:
		wrong = s.writer != nobody || len(s.readers) > 0
		s.known, s.writer = true, e.g
		clear(s.readers)
		delete(s.waiting, e.g)
	case mark.ReadLock:
		wrong = s.writer != nobody
		s.readers[e.g] = true
	// It is given back by a goroutine that has it.
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
// that read. It returns which part of the incidents, waits among them, contradict. Where several
// locks are used at one place, each that is taken while another one is held contradicts: the
// hypothesis of one lock drops out by itself, and that of lock_sharding.go is next.
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
