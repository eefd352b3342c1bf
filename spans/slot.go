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
// The first three slots of a process, five in one built by "otelprof build", are words of the region and
// cost what a load or a store costs; Set of a further one allocates. Methods may be called by any goroutine.
type Slot[T any] struct{ index uint32 }

// A NameSlot is a place that all spans of one scope and one name share, for what a hook has
// made up its mind about. The name is the one given at start. Names beyond
// [WithMaxRegions] share the place of the region "other". Else it is as a [Slot].
type NameSlot[T any] struct{ index uint32 }

// inlineSlots are the slots that need no list: one each for counters, causal and stacks, and those of the scheduler.
const inlineSlots = 3 + schedulerSlots

var regionSlots, nameSlots atomic.Uint32

// NewSlot returns a slot that nobody else has. Slots are never given back.
func NewSlot[T any]() Slot[T] { return Slot[T]{regionSlots.Add(1) - 1} }

// Get returns what was set, nil if nothing was or r is nil.
func (s Slot[T]) Get(r *Region) *T {
	if r == nil {
		return nil
	}
	return (*T)(r.slots.get(s.index))
}

// Set keeps v with the region. What v points to must have been written before.
func (s Slot[T]) Set(r *Region, v *T) { r.slots.set(s.index, unsafe.Pointer(v)) }

// NewNameSlot returns a slot that nobody else has. Slots are never given back.
func NewNameSlot[T any]() NameSlot[T] { return NameSlot[T]{nameSlots.Add(1) - 1} }

// Get returns what was set for the name of r, nil if nothing was.
func (s NameSlot[T]) Get(r *Region) *T { return (*T)(r.stats.slots.get(s.index)) }

// Set keeps v for all spans with the name of r. The last call counts.
func (s NameSlot[T]) Set(r *Region, v *T) { r.stats.slots.set(s.index, unsafe.Pointer(v)) }

// slots are the values of all slots in one place.
type slots struct {
	words [inlineSlots]unsafe.Pointer
	more  atomic.Pointer[slotNode] // the slots beyond those
}

// slotNode is the value of a slot that has no word.
type slotNode struct {
	next  *slotNode
	index uint32
	value unsafe.Pointer
}

func (s *slots) get(index uint32) unsafe.Pointer {
	if index < inlineSlots {
		return atomic.LoadPointer(&s.words[index])
	}
	for n := s.more.Load(); n != nil; n = n.next {
		if n.index == index {
			return n.value
		}
	}
	return nil
}

func (s *slots) set(index uint32, value unsafe.Pointer) {
	if index < inlineSlots {
		atomic.StorePointer(&s.words[index], value)
		return
	}
	// The newest node of a slot comes first and hides those before it.
	n := &slotNode{index: index, value: value}
	for {
		n.next = s.more.Load()
		if s.more.CompareAndSwap(n.next, n) {
			return
		}
	}
}
