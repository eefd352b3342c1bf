package registry

import "sync/atomic"

// A table finds values by key. It is open-addressed and at most half full. Any number of goroutines
// may get; for put they hold a lock.
//
// A get takes no lock because a slot is written once, its key first and its value last, atomically:
// a get that sees the value sees the key (happens-before), and one that does not stops there. Keys
// are put in the order of their probe sequence, and none is removed. To grow, the slots are copied.
// A get in the old ones may miss what was put later, and so a miss proves nothing until it is
// repeated with the lock.
type table[K comparable, V any] struct {
	slots []slot[K, V] // 2^n of them
}

type slot[K comparable, V any] struct {
	key   K // valid if there is a value
	hash  uint64
	value atomic.Pointer[V]
}

const leastSlots = 16

func newTable[K comparable, V any](slots int) *table[K, V] {
	return &table[K, V]{make([]slot[K, V], slots)}
}

func (t *table[K, V]) get(hash uint64, key K) *V {
	mask := uint64(len(t.slots) - 1)
	for i := hash; ; i++ {
		s := &t.slots[i&mask]
		if v := s.value.Load(); v == nil || s.hash == hash && s.key == key {
			return v
		}
	}
}

// put adds a key that get does not find.
func (t *table[K, V]) put(hash uint64, key K, v *V) {
	mask := uint64(len(t.slots) - 1)
	i := hash
	for t.slots[i&mask].value.Load() != nil {
		i++
	}
	s := &t.slots[i&mask]
	s.key, s.hash = key, hash
	s.value.Store(v)
}

// larger returns a table twice as large with the same keys.
func (t *table[K, V]) larger() *table[K, V] {
	next := newTable[K, V](2 * len(t.slots))
	for i := range t.slots {
		if s := &t.slots[i]; s.value.Load() != nil {
			next.put(s.hash, s.key, s.value.Load())
		}
	}
	return next
}
