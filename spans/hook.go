package spans

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Hook sees every span start and end. Its methods run on the goroutine that starts or
// ends the span, inside the span's life, so their cost is the application's. They are
// called by any number of goroutines. A panic in a hook is recovered and counted as
// [Dropped.HookPanics]; the other hooks are called all the same.
type Hook interface {
	// OnStart is called after the span has started; ctx contains it. The context it returns
	// is the one that the caller of Start gets, with the span put back if it has gone;
	// return ctx to leave it as it is.
	OnStart(ctx context.Context, r *Span) context.Context
	// OnEnd is called at End, once, before the span ends: attributes can still be set.
	OnEnd(r *Span)
}

// An AfterEnder is a Hook that is also called when the span has ended.
type AfterEnder interface {
	Hook
	// AfterEnd is called when the end time is taken: [Span.Duration] and
	// [Span.SelfTime] are final, attributes cannot be set any more, and the time it takes is
	// not the span's. It returns how long it held the caller up on purpose; that time is no
	// span's self time, and it is taken off the durations of the spans above.
	AfterEnd(r *Span) time.Duration
}

// hooks are the hooks of one provider.
type hooks struct {
	all    []Hook
	enders []AfterEnder
}

func newHooks(all []Hook) hooks {
	h := hooks{all: all}
	for _, hook := range all {
		if e, ok := hook.(AfterEnder); ok {
			h.enders = append(h.enders, e)
		}
	}
	return h
}

func (h *hooks) onStart(ctx context.Context, r *Span) context.Context {
	for _, hook := range h.all {
		ctx = r.startHook(ctx, hook)
	}
	return ctx
}

func (h *hooks) onEnd(r *Span) {
	for _, hook := range h.all {
		r.endHook(hook)
	}
}

func (h *hooks) afterEnd(r *Span) (delay time.Duration) {
	for _, hook := range h.enders {
		delay += r.afterEndHook(hook)
	}
	return delay
}

// The three calls below recover each for itself, so that one hook that panics does not cost
// the next one its turn. To ask for a panic only where there is one saves two nanoseconds.

func (r *Span) startHook(ctx context.Context, hook Hook) (next context.Context) {
	next = ctx
	returned := false
	defer func() {
		if !returned {
			r.countPanic(recover())
		}
	}()
	c := hook.OnStart(ctx, r)
	returned = true
	if c != nil {
		next = c
	}
	return next
}

func (r *Span) endHook(hook Hook) {
	returned := false
	defer func() {
		if !returned {
			r.countPanic(recover())
		}
	}()
	hook.OnEnd(r)
	returned = true
}

func (r *Span) afterEndHook(hook AfterEnder) (delay time.Duration) {
	returned := false
	defer func() {
		if !returned {
			r.countPanic(recover())
		}
	}()
	delay = max(0, hook.AfterEnd(r))
	returned = true
	return delay
}

// A Slot is a place in every [Span] where a hook keeps a *T from the start of a span to
// its end. Make it once, as a package-level variable, and use it in Hook methods:
//
//	var started = spans.NewSlot[measurement]()
//
// The first three slots of a process, six in one built by "otelprof build", are words of the span
// and cost what a load or a store costs; Set of a further one allocates. Methods may be called by
// any goroutine.
type Slot[T any] struct{ index uint32 }

// A NameSlot is a place that all spans of one scope and one name share, for what a hook has made up
// its mind about. The name is the one given at start. Names beyond [WithMaxRegions] share the place
// of the region "other", see [NameSlot.Own]. Else it is as a [Slot].
type NameSlot[T any] struct{ index uint32 }

// inlineSlots are the slots that need no list: one each for counters, causal and stacks, and those
// of the scheduler.
const inlineSlots = 3 + schedulerSlots

var spanSlots, nameSlots atomic.Uint32

// NewSlot returns a slot of the caller's own. Slots are never given back.
func NewSlot[T any]() Slot[T] { return Slot[T]{spanSlots.Add(1) - 1} }

// Get returns what was set, nil if nothing was or r is nil.
func (s Slot[T]) Get(r *Span) *T {
	if r == nil {
		return nil
	}
	return (*T)(r.slots.get(s.index))
}

// Set keeps v with the span. The value that v points to must have been written before.
func (s Slot[T]) Set(r *Span, v *T) { r.slots.set(s.index, unsafe.Pointer(v)) }

// NewNameSlot returns a slot of the caller's own. Slots are never given back.
func NewNameSlot[T any]() NameSlot[T] { return NameSlot[T]{nameSlots.Add(1) - 1} }

// Get returns what was set for the name of r, nil if nothing was.
func (s NameSlot[T]) Get(r *Span) *T { return (*T)(r.stats.slots.get(s.index)) }

// Own reports whether the name that r was given at start has a place of its own. Names beyond
// [WithMaxRegions] share the place of the region "other".
func (s NameSlot[T]) Own(r *Span) bool { return r.stats.overflow == nil }

// Set keeps v for all spans with the name of r. The last call counts.
func (s NameSlot[T]) Set(r *Span, v *T) { r.stats.slots.set(s.index, unsafe.Pointer(v)) }

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
