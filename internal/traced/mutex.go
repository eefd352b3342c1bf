// Package traced has the types of package sync whose operations stand in the execution traces that
// marks are wanted in, see package mark. While none is on, each method costs one atomic load more
// than that of package sync. The zero values are ready for use, and must not be copied after first
// use.
package traced

import (
	"sync"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// enabled reports whether operations are to be written here. In a program of otelprof build the
// runtime writes those on the locks and channels inside.
func enabled() bool { return !sched.Present && mark.Enabled() }

// A Mutex is a [sync.Mutex].
type Mutex struct {
	mu     sync.Mutex
	object mark.Object
}

// Lock locks m.
func (m *Mutex) Lock() {
	if enabled() {
		m.lock()
		return
	}
	m.mu.Lock()
}

func (m *Mutex) lock() {
	if !m.mu.TryLock() {
		m.object.Begin(mark.Lock, 0)
		m.mu.Lock()
	}
	m.object.Done(mark.Lock, 0)
}

// TryLock tries to lock m.
func (m *Mutex) TryLock() bool {
	ok := m.mu.TryLock()
	if ok && enabled() {
		m.object.Done(mark.Lock, 0)
	}
	return ok
}

// Unlock unlocks m.
func (m *Mutex) Unlock() {
	if enabled() {
		m.object.Done(mark.Unlock, 0)
	}
	m.mu.Unlock()
}
