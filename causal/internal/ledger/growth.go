package ledger

import (
	"math"
	"sync/atomic"
)

// Growth is how much time the region would have saved the program so far: a ledger with less credit
// owes the difference. It is the largest credit of all ledgers, but for what a goroutine has paid
// in advance by sleeping too long: that is no other ledger's debt.
//
// A ledger in which the region is open grows all the time, at the rate of the speed-up. So its
// place in slots holds what its credit would have been at time 0, and a reader adds the
// time. All ledgers grow at one rate, so their order never changes while they do.
type Growth struct {
	speedup float64
	closed  atomic.Int64 // the largest credit of ledgers that are settled
	high    atomic.Int32 // slots at and above it have never been used
	slots   [growing]growthSlot
}

// growing is the number of ledgers that can be seen to grow at once. Further ones are seen
// when they settle.
const growing = 64

// growthSlot fills a cache line, since each is written by another goroutine.
type growthSlot struct {
	key  atomic.Int64 // credit at time 0, or unused or silent
	used atomic.Bool
	_    [64 - 8 - 4]byte
}

const (
	silent = math.MinInt64 // nothing grows in this slot
	noSlot = -1
)

func newGrowth(speedup float64) *Growth {
	g := &Growth{speedup: speedup}
	for i := range g.slots {
		g.slots[i].key.Store(silent)
	}
	return g
}

// At returns the growth at t, in nanoseconds since the setting began.
func (g *Growth) At(t int64) int64 {
	most, moving := int64(0), g.moving(t)
	for i := range g.high.Load() {
		if key := g.slots[i].key.Load(); key != silent {
			most = max(most, key+moving)
		}
	}
	// It comes last: what a slot has shown is in it before the slot is silent, see keep.
	return max(most, g.closed.Load())
}

// moving is what a slot adds to its key at t.
func (g *Growth) moving(t int64) int64 { return int64(g.speedup * float64(t)) }

func (g *Growth) raise(credit int64) {
	for {
		most := g.closed.Load()
		if credit <= most || g.closed.CompareAndSwap(most, credit) {
			return
		}
	}
}

// take returns a slot that is free, or noSlot.
func (g *Growth) take() int {
	for i := range g.slots {
		if !g.slots[i].used.Load() && g.slots[i].used.CompareAndSwap(false, true) {
			for {
				high := g.high.Load()
				if int32(i) < high || g.high.CompareAndSwap(high, int32(i)+1) {
					return i
				}
			}
		}
	}
	return noSlot
}

// grow brings the ledger's slot in line with its state at t, for which it is settled.
func (l *Ledger) grow(t int64) {
	g := l.setting.growth
	if g == nil {
		return
	}
	if l.depth == 0 || l.waiting {
		l.suspend(t)
		return
	}
	l.base = min(l.credit, g.At(t))
	if l.slot == noSlot {
		l.slot = g.take()
	}
	if l.slot != noSlot {
		l.keep(t)
		g.slots[l.slot].key.Store(l.base - g.moving(t))
	}
}

// keep makes what the slot has shown until t stay, even if the ledger turns out to have less:
// others have paid for it.
func (l *Ledger) keep(t int64) {
	g := l.setting.growth
	if key := g.slots[l.slot].key.Load(); key != silent {
		g.raise(key + g.moving(t))
	}
}

// suspend takes the ledger out of those that grow, at t.
func (l *Ledger) suspend(t int64) {
	if l.slot == noSlot {
		return
	}
	l.keep(t)
	slot := &l.setting.growth.slots[l.slot]
	slot.key.Store(silent)
	slot.used.Store(false)
	l.slot = noSlot
}
