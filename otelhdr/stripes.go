package otelhdr

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"time"
	"unsafe"
)

// Most histograms of a process are hit by few goroutines at once, and a stripe costs kilobytes, so
// a Concurrent starts with one stripe and adds more only while writers get into each other's way.
const (
	// maxStripes bounds the memory of one histogram.
	maxStripes = 32

	// A compare-and-swap that fails costs about 0.1 µs. Where a stripe sees fewer than one in
	// collisionInterval, all of them together cost 0.3 % of a processor, and more stripes would not
	// pay for their memory.
	collisionInterval = 32 * time.Microsecond

	// minPatience is the number of collisions after which their rate is looked at.
	minPatience = 32
	maxPatience = 1 << 30
)

// processStart is what a stripe's marks are relative to.
var processStart = time.Now()

// A stripeSet assigns goroutines to stripes. It does not change; a Concurrent exchanges it for
// another.
//
// A writer keeps the set alive until it has recorded. That is how stripes are merged without a
// lock: once the garbage collector has found that nothing holds a set that was exchanged, no writer
// is left that came by it.
type stripeSet struct {
	stripes    []*stripe // their number is a power of two
	shift      uint      // 64 - log2 of that number
	multiplier uint64    // odd
	patience   uint64    // collisions of a stripe before their rate is looked at; a power of two
}

// singleStripe returns a set of one stripe.
func singleStripe(t *stripe) *stripeSet {
	return &stripeSet{stripes: []*stripe{t}, shift: 64, multiplier: 1, patience: minPatience}
}

// pick returns the stripe of the calling goroutine.
//
// Go has no cheap identity of a goroutine or a processor, but every goroutine has a stack of its
// own, of at least 2 KiB, so the address of a local variable without its low bits is one. It is
// only a hint: a goroutine whose stack is moved, or that calls from another depth, may get another
// stripe, and any stripe is correct for any goroutine. The leading bits of a product with a random
// odd number spread the addresses evenly.
func (s *stripeSet) pick() *stripe {
	var local byte
	page := uint64(uintptr(unsafe.Pointer(&local))) >> 11
	return s.stripes[page*s.multiplier>>s.shift]
}

// next returns the set to use after writers have collided too often in s: one of twice as many
// stripes, or of the same stripes once there are limit. Two busy goroutines that share a stripe by
// bad luck may be apart under the new multiplier. More goroutines than stripes never will, so the
// reshuffles become rarer and rarer.
//
// All stripes of s are in the result, since writers go on using s until they load its successor.
func (s *stripeSet) next(limit int) *stripeSet {
	n := &stripeSet{stripes: s.stripes, shift: s.shift, multiplier: rand.Uint64() | 1, patience: s.patience}
	if len(s.stripes) >= limit {
		n.patience = min(2*s.patience, maxPatience)
		return n
	}
	n.shift--
	n.stripes = make([]*stripe, 2*len(s.stripes))
	for i := range n.stripes[copy(n.stripes, s.stripes):] {
		n.stripes[len(s.stripes)+i] = newStripe()
	}
	return n
}

// stripeLimit returns the number of stripes to stop at: as many as goroutines can run at a time, or
// up to twice that.
func stripeLimit() int { return min(1<<bits.Len(uint(runtime.GOMAXPROCS(0))), maxStripes) }

// collided notes that two writers met in t, and exchanges the set s that led them there if that
// happens too often.
//
//go:noinline
func (c *Concurrent) collided(s *stripeSet, t *stripe) {
	if t.collisions.Add(1)&(s.patience-1) != 0 {
		return
	}
	now := int64(time.Since(processStart))
	if now-t.marked.Swap(now) > int64(s.patience)*int64(collisionInterval) {
		return
	}
	if c.set.Load() == s {
		// Of several writers that come here at once one succeeds, and the others have the same
		// wish.
		c.exchange(s, s.next(stripeLimit()))
	}
}

// exchange has next take the place of s, and reports whether it did.
func (c *Concurrent) exchange(s, next *stripeSet) bool {
	c.replaced.Add(1) // before a writer can have lost s
	if !c.set.CompareAndSwap(s, next) {
		c.replaced.Add(-1)
		return false
	}
	runtime.AddCleanup(s, (*Concurrent).outlived, c)
	return true
}

// outlived is called after the last writer has let go of a set that was exchanged.
func (c *Concurrent) outlived() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaced.Add(-1)
	c.merge()
}

// merge moves what the stripes count that are in no set any more, if no writer has a set that was
// exchanged, and so none of these stripes. The caller holds mu.
func (c *Concurrent) merge() {
	if len(c.merging) == 0 || c.replaced.Load() != 0 {
		return
	}
	first := c.set.Load().stripes[0]
	for _, t := range c.merging {
		first.absorb(&c.layout, t)
	}
	c.merging = nil
}

// A rate is what the last look at the number of values has found.
type rate struct {
	at    time.Duration // since processStart
	count uint64
}

// A histogram that gets fewer than calmRate records a second, each of some 20 ns, has two of them
// at the same time less than once in 5 ms: much less often than collisionInterval, at which stripes
// are added again.
const (
	calmRate     = 100_000
	calmInterval = time.Second // no judgement about less
)

// calm goes back to a single stripe if few values were recorded since the last look; count is the
// count of all values, those before a Reset too. The caller holds mu.
func (c *Concurrent) calm(count uint64) {
	c.merge() // what outlived has left, when an exchange was being tried that then failed
	now := time.Since(processStart)
	passed := now - c.rate.at
	if passed < calmInterval {
		return
	}
	since := count - c.rate.count
	c.rate = rate{at: now, count: count} // with one stripe too, or the first look would be at hours
	s := c.set.Load()
	if len(s.stripes) == 1 {
		return
	}
	if float64(since) < calmRate*passed.Seconds() && c.exchange(s, singleStripe(s.stripes[0])) {
		c.merging = append(c.merging, s.stripes[1:]...)
	}
}
