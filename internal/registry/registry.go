// Package registry keeps one value for each of a bounded number of keys, and one for all the
// others: spans have names that programs make up as they run, and what is kept by name must not
// grow without end.
package registry

import (
	"sync"
	"sync/atomic"
)

// A Registry has the values of up to a limit of keys, and one value, "other", for all keys beyond.
// None is ever removed. Get takes no lock and allocates nothing: 10 ns, about what a map takes. Its
// methods may be called by any goroutine.
type Registry[K comparable, V any] struct {
	limit int
	hash  func(K) uint64
	rest  func(number int) *V

	table atomic.Pointer[table[K, V]]
	all   atomic.Pointer[[]*V] // by number; an array that was handed out is not changed
	other atomic.Pointer[V]

	mu   sync.Mutex
	keys int
}

// New returns a registry of limit keys; 0 is for no limit, where the keys are known to be few. Hash
// need not use all of a key, but much of it. Rest makes the value of all keys beyond the limit,
// once, when it is first needed. Values have numbers, from 0, in the order in which they were made.
func New[K comparable, V any](limit int, hash func(K) uint64, rest func(number int) *V) *Registry[K, V] {
	r := &Registry[K, V]{limit: limit, hash: hash, rest: rest}
	r.table.Store(newTable[K, V](leastSlots))
	r.all.Store(new([]*V))
	return r
}

// Get returns the value of a key, that of the others if the registry is full, and nil if the key is
// to be added.
func (r *Registry[K, V]) Get(key K) *V {
	if v := r.table.Load().get(r.hash(key), key); v != nil {
		return v
	}
	if v := r.other.Load(); v != nil && r.full() {
		return v
	}
	return nil
}

func (r *Registry[K, V]) full() bool {
	return r.limit > 0 && len(*r.all.Load()) > r.limit
}

// Add is Get, but for a key to be added: then it makes its value, or that of the others if there is
// no room.
func (r *Registry[K, V]) Add(key K, add func(number int) *V) *V {
	r.mu.Lock()
	defer r.mu.Unlock()
	hash := r.hash(key)
	t := r.table.Load()
	if v := t.get(hash, key); v != nil {
		return v
	}
	if r.limit > 0 && r.keys >= r.limit {
		return r.theOther()
	}
	v := add(len(*r.all.Load()))
	r.keys++
	if 2*r.keys > len(t.slots) {
		t = t.larger()
		t.put(hash, key, v)
		r.table.Store(t)
	} else {
		t.put(hash, key, v)
	}
	r.list(v)
	return v
}

// Other returns the value of the keys beyond the limit, also if the limit has not been reached.
func (r *Registry[K, V]) Other() *V {
	if v := r.other.Load(); v != nil {
		return v
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.theOther()
}

// All returns the values by number, that of the others among them if it was needed. They must not
// be changed.
func (r *Registry[K, V]) All() []*V { return *r.all.Load() }

func (r *Registry[K, V]) theOther() *V {
	if v := r.other.Load(); v != nil {
		return v
	}
	v := r.rest(len(*r.all.Load()))
	r.other.Store(v)
	r.list(v)
	return v
}

func (r *Registry[K, V]) list(v *V) {
	all := append(*r.all.Load(), v) // beyond the end of what others have
	r.all.Store(&all)
}
