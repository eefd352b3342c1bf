package spans

import (
	"sync/atomic"
	"unsafe"
)

// A Slot is a place in every [Region] where a hook keeps a *T from the start of a span to
// its end. Make it once, as a package-level variable, and use it in Hook methods:
//
//	var started = spans.NewSlot[measurement]()
//
// The first two slots of a process are words of the region and cost what a load or a store costs;
// Set of a further one allocates a node. Methods may be called by any goroutine.
type Slot[T any] struct{ index uint32 }

// inlineSlots are the slots that lie in the region: one for counters, one for causal.
const inlineSlots = 2

var slots atomic.Uint32

// NewSlot returns a slot that nobody else has. Slots are never given back.
func NewSlot[T any]() Slot[T] { return Slot[T]{slots.Add(1) - 1} }

// Get returns what was set, nil if nothing was or r is nil.
func (s Slot[T]) Get(r *Region) *T {
	if r == nil {
		return nil
	}
	if s.index < inlineSlots {
		return (*T)(atomic.LoadPointer(&r.slots[s.index]))
	}
	for n := r.more.Load(); n != nil; n = n.next {
		if n.index == s.index {
			return (*T)(n.value)
		}
	}
	return nil
}

// Set keeps v with the region. What v points to must have been written before.
func (s Slot[T]) Set(r *Region, v *T) {
	if s.index < inlineSlots {
		atomic.StorePointer(&r.slots[s.index], unsafe.Pointer(v))
		return
	}
	// The newest node of a slot comes first and hides those before it.
	n := &slotNode{index: s.index, value: unsafe.Pointer(v)}
	for {
		n.next = r.more.Load()
		if r.more.CompareAndSwap(n.next, n) {
			return
		}
	}
}

// slotNode is the value of a slot that has no word in the region.
type slotNode struct {
	next  *slotNode
	index uint32
	value unsafe.Pointer
}
