package pmuattrs

import (
	"runtime"
	"sync/atomic"

	"github.com/otelprof/otelprof/internal/goroutine"
)

// debts are locks to threads that goroutines still hold because their spans ended elsewhere.
// Only a goroutine itself can undo its lock, so it does when it comes by here again. One that
// does not only keeps its thread, and takes it along when it ends.
//
// Names are given up at their first such span, so there are few: one that finds its place taken
// takes it over, most likely from a goroutine that has ended.
type debts struct {
	any    atomic.Bool // from the first one on
	places [256]atomic.Uint64
}

// threadLocks counts the locks that the hooks of this process have taken, and their goroutines
// still have, as far as is known.
type threadLocks struct{ atomic.Int64 }

// mostHeld is how many locks there may be. Each may take a thread, with a stack of the operating
// system's, and at 10,000 threads Go ends the process.
const mostHeld = 1000

var held threadLocks

// take reports whether there is room for one more.
func (l *threadLocks) take() bool {
	if l.Add(1) > mostHeld {
		l.Add(-1)
		return false
	}
	return true
}

func (l *threadLocks) give(n int64) { l.Add(-n) }

// owed are those of the process: locks do not belong to a hook.
var owed debts

// A place has the goroutine's ID above the number of its locks.
const (
	lockBits = 8
	maxLocks = 1<<lockBits - 1
)

func (d *debts) place(id goroutine.ID) *atomic.Uint64 { return &d.places[int(id)%len(d.places)] }

// add notes that a goroutine has to undo one lock.
func (d *debts) add(id goroutine.ID) {
	place := d.place(id)
	for {
		old := place.Load()
		locks, gone := uint64(1), old&maxLocks // with a goroutine that has ended, most likely
		if goroutine.ID(old>>lockBits) == id {
			locks, gone = min(old&maxLocks+1, maxLocks), 0
		}
		if place.CompareAndSwap(old, uint64(id)<<lockBits|locks) {
			held.give(int64(gone))
			d.any.Store(true)
			return
		}
	}
}

// pay undoes the locks of the calling goroutine. One load as long as there never were any, some
// three nanoseconds later on.
func (d *debts) pay() {
	if d.any.Load() {
		d.payNow()
	}
}

func (d *debts) payNow() {
	id := goroutine.Current()
	place := d.place(id)
	for {
		old := place.Load()
		if old == 0 || goroutine.ID(old>>lockBits) != id {
			return
		}
		if place.CompareAndSwap(old, 0) {
			for range old & maxLocks {
				runtime.UnlockOSThread()
			}
			held.give(int64(old & maxLocks))
			return
		}
	}
}
