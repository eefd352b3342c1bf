package workloads

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/otelprof/otelprof/causal"
)

// Types are whose locks, channels and groups a program is made of.
type Types string

const (
	CausalTypes Types = "causal" // causal.Mutex, causal.Chan and their kin
	PlainTypes  Types = "plain"  // sync.Mutex, chan and their kin
)

// A rwLocker is what a sync.RWMutex and a causal.RWMutex have in common.
type rwLocker interface {
	sync.Locker
	RLock()
	RUnlock()
}

// A waitGroup is what a sync.WaitGroup and a causal.WaitGroup have in common.
type waitGroup interface {
	Add(int)
	Done()
	Go(func())
	Wait()
}

// A condition is what a sync.Cond and a causal.Cond have in common.
type condition interface {
	Wait()
	Signal()
	Broadcast()
}

// A group is what an errgroup.Group and a causal.Group have in common.
type group interface {
	SetLimit(int)
	Go(func() error)
	Wait() error
}

func (t Types) mutex() sync.Locker {
	if t == PlainTypes {
		return &sync.Mutex{}
	}
	return &causal.Mutex{}
}

func (t Types) rwMutex() rwLocker {
	if t == PlainTypes {
		return &sync.RWMutex{}
	}
	return &causal.RWMutex{}
}

func (t Types) waitGroup() waitGroup {
	if t == PlainTypes {
		return &sync.WaitGroup{}
	}
	return &causal.WaitGroup{}
}

func (t Types) cond(l sync.Locker) condition {
	if t == PlainTypes {
		return sync.NewCond(l)
	}
	return causal.NewCond(l)
}

// once returns a function that calls f when it is called for the first time.
func (t Types) once(f func()) func() {
	if t == PlainTypes {
		return sync.OnceFunc(f)
	}
	return causal.OnceFunc(f)
}

func (t Types) group(ctx context.Context) (group, context.Context) {
	if t == PlainTypes {
		return errgroup.WithContext(ctx)
	}
	return causal.GroupWithContext(ctx)
}

// A channel is what a chan and a causal.Chan have in common.
type channel[T any] interface {
	Send(v T)
	// TrySend is Send if there is room, and reports whether there was.
	TrySend(v T) bool
	// Receive returns the next element; ok is false if the channel is closed and empty.
	Receive() (v T, ok bool)
	// ReceiveWithin is Receive for d at most; late reports that nothing came until then.
	ReceiveWithin(d time.Duration) (v T, ok, late bool)
	// TryReceive is Receive if there is an element; ok is false as well if there is none yet.
	TryReceive() (v T, ok bool)
	Close()
}

// newChannel returns a channel with room for capacity elements.
func newChannel[T any](t Types, capacity int) channel[T] {
	if t == PlainTypes {
		return plainChannel[T](make(chan T, capacity))
	}
	return causalChannel[T]{causal.NewChan[T](capacity)}
}

type plainChannel[T any] chan T

func (c plainChannel[T]) Send(v T) { c <- v }
func (c plainChannel[T]) Close()   { close(c) }

func (c plainChannel[T]) TrySend(v T) bool {
	select {
	case c <- v:
		return true
	default:
		return false
	}
}

func (c plainChannel[T]) Receive() (v T, ok bool) {
	v, ok = <-c
	return v, ok
}

func (c plainChannel[T]) TryReceive() (v T, ok bool) {
	select {
	case v, ok = <-c:
	default:
	}
	return v, ok
}

func (c plainChannel[T]) ReceiveWithin(d time.Duration) (v T, ok, late bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case v, ok = <-c:
		return v, ok, false
	case <-timer.C:
		return v, false, true
	}
}

type causalChannel[T any] struct{ causal.Chan[T] }

func (c causalChannel[T]) ReceiveWithin(d time.Duration) (v T, ok, late bool) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	v, ok, err := c.ReceiveContext(ctx)
	return v, ok, err != nil
}

// receiveEither receives from one of two channels, and returns which. Ok is false if that one is
// closed and empty.
func receiveEither[T any](t Types, a, b channel[T]) (v T, first, ok bool) {
	if t == PlainTypes {
		select {
		case v, ok = <-a.(plainChannel[T]):
			return v, true, ok
		case v, ok = <-b.(plainChannel[T]):
			return v, false, ok
		}
	}
	from, or := a.(causalChannel[T]), b.(causalChannel[T])
	select {
	case it := <-from.Receiving():
		v, ok = from.Received(it)
		return v, true, ok
	case it := <-or.Receiving():
		v, ok = or.Received(it)
		return v, false, ok
	}
}
