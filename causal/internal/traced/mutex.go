// Package traced has the types of package sync whose operations stand in any execution trace that is
// on, see package mark. While none is, each method costs one atomic load more than that of package
// sync. The zero values are ready for use, and must not be copied after first use.
package traced

import (
	"sync"

	"github.com/otelprof/otelprof/internal/mark"
)

// A Mutex is a [sync.Mutex].
type Mutex struct {
	mu     sync.Mutex
	object mark.Object
}

// Lock locks m.
func (m *Mutex) Lock() {
	if mark.Enabled() {
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
	if ok && mark.Enabled() {
		m.object.Done(mark.Lock, 0)
	}
	return ok
}

// Unlock unlocks m.
func (m *Mutex) Unlock() {
	if mark.Enabled() {
		m.object.Done(mark.Unlock, 0)
	}
	m.mu.Unlock()
}
