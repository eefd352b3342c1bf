package workloads

import (
	"cmp"
	"math/rand/v2"
	"sync"
)

// A Shape is how a program is built, where other builds are asked about. The zero value is the
// usual way.
type Shape struct {
	Capacity int // of the channel, or of the pool; 0 for the usual
	Workers  int // of the pool; 0 for two
	Parts    int // into which the lock is split; 0 for one
	Procs    int // GOMAXPROCS; 0 for as many as there are
}

// room is the capacity of the channel.
func (s Shape) room(usual int) int {
	if s.Capacity > 0 {
		return s.Capacity
	}
	return usual
}

// workers are those of a pool.
func (s Shape) workers() int { return cmp.Or(s.Workers, 2) }

// locks are the parts of the program's lock.
func (s Shape) locks(t Types) parts {
	all := make(parts, max(1, s.Parts))
	for i := range all {
		all[i] = t.mutex()
	}
	return all
}

// parts are what a lock is split into.
type parts []sync.Locker

// any returns a part, as a hash of what is asked for would.
func (p parts) any() sync.Locker { return p[rand.IntN(len(p))] }
