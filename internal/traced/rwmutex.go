package traced

import (
	"sync"

	"github.com/otelprof/otelprof/internal/mark"
)

// An RWMutex is a [sync.RWMutex].
type RWMutex struct {
	mu     sync.RWMutex
	object mark.Object
}

// Lock locks rw for writing.
func (rw *RWMutex) Lock() {
	if enabled() {
		rw.lock()
		return
	}
	rw.mu.Lock()
}

func (rw *RWMutex) lock() {
	if !rw.mu.TryLock() {
		rw.object.Begin(mark.WriteLock, 0)
		rw.mu.Lock()
	}
	rw.object.Done(mark.WriteLock, 0)
}

// TryLock tries to lock rw for writing.
func (rw *RWMutex) TryLock() bool {
	ok := rw.mu.TryLock()
	if ok && enabled() {
		rw.object.Done(mark.WriteLock, 0)
	}
	return ok
}

// Unlock unlocks rw for writing.
func (rw *RWMutex) Unlock() {
	if enabled() {
		rw.object.Done(mark.WriteUnlock, 0)
	}
	rw.mu.Unlock()
}

// RLock locks rw for reading.
func (rw *RWMutex) RLock() {
	if enabled() {
		rw.rlock()
		return
	}
	rw.mu.RLock()
}

func (rw *RWMutex) rlock() {
	if !rw.mu.TryRLock() {
		rw.object.Begin(mark.ReadLock, 0)
		rw.mu.RLock()
	}
	rw.object.Done(mark.ReadLock, 0)
}

// TryRLock tries to lock rw for reading.
func (rw *RWMutex) TryRLock() bool {
	ok := rw.mu.TryRLock()
	if ok && enabled() {
		rw.object.Done(mark.ReadLock, 0)
	}
	return ok
}

// RUnlock undoes a single RLock.
func (rw *RWMutex) RUnlock() {
	if enabled() {
		rw.object.Done(mark.ReadUnlock, 0)
	}
	rw.mu.RUnlock()
}
