// Package asynclog has what logs for an application that must not wait, be flooded or panic for it:
// messages are delivered on a goroutine of their own ([Queue]), each cause at most once in ten
// minutes ([Causes]), and a handler's panic is recovered ([Contained]).
package asynclog

import (
	"context"
	"sync"
)

// A Queue gives messages to a function, one after the other and in their order, on a goroutine of
// its own that lives only while there are any. The sender may hold locks that the function needs.
// Any goroutine may use it.
type Queue[T any] struct {
	deliver func(T)
	room    int

	mu    sync.Mutex
	queue []T
	empty chan struct{} // closed when the queue is empty; nil if it is
}

// NewQueue returns a Queue that has room for room messages besides the one under way. Deliver must
// not panic.
func NewQueue[T any](room int, deliver func(T)) *Queue[T] {
	return &Queue[T]{room: room, deliver: deliver}
}

// Put returns at once. It reports false if there is no room: the message is lost.
func (t *Queue[T]) Put(m T) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == t.room {
		return false
	}
	t.queue = append(t.queue, m)
	if t.empty == nil {
		t.empty = make(chan struct{})
		go t.run()
	}
	return true
}

func (t *Queue[T]) run() {
	for {
		m, ok := t.next()
		if !ok {
			return
		}
		t.deliver(m)
	}
}

func (t *Queue[T]) next() (m T, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		close(t.empty)
		t.empty = nil
		return m, false
	}
	m, t.queue = t.queue[0], t.queue[1:]
	return m, true
}

// Wait waits until all messages have been delivered, or ctx ends.
func (t *Queue[T]) Wait(ctx context.Context) {
	t.mu.Lock()
	empty := t.empty
	t.mu.Unlock()
	if empty == nil {
		return
	}
	select {
	case <-empty:
	case <-ctx.Done():
	}
}
