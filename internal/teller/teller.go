// Package teller delivers messages without making the sender wait.
package teller

import (
	"context"
	"sync"
)

// A Teller gives messages to a function, one after the other and in their order, on a goroutine of its own that lives only
// while there are any. The sender may hold locks that the function needs. Any goroutine may use it.
type Teller[T any] struct {
	tell func(T)
	room int

	mu    sync.Mutex
	queue []T
	told  chan struct{} // closed when the queue is empty; nil if it is
}

// New returns a Teller that has room for room messages besides the one under way. Tell must not panic.
func New[T any](room int, tell func(T)) *Teller[T] { return &Teller[T]{room: room, tell: tell} }

// Tell returns at once. It reports false if there is no room: the message is lost.
func (t *Teller[T]) Tell(m T) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == t.room {
		return false
	}
	t.queue = append(t.queue, m)
	if t.told == nil {
		t.told = make(chan struct{})
		go t.run()
	}
	return true
}

func (t *Teller[T]) run() {
	for {
		m, ok := t.next()
		if !ok {
			return
		}
		t.tell(m)
	}
}

func (t *Teller[T]) next() (m T, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		close(t.told)
		t.told = nil
		return m, false
	}
	m, t.queue = t.queue[0], t.queue[1:]
	return m, true
}

// Wait waits until all messages have been delivered, or ctx ends.
func (t *Teller[T]) Wait(ctx context.Context) {
	t.mu.Lock()
	told := t.told
	t.mu.Unlock()
	if told == nil {
		return
	}
	select {
	case <-told:
	case <-ctx.Done():
	}
}
