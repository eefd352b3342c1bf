package sync

import (
	"internal/race"
	"sync/atomic"
	"unsafe"
)

// What package sync calls in place of Lock and Unlock. Operations are written into the execution
// trace while one is on; other users of Mutex here, such as HashTrieMap, have nothing written.

//go:linkname otelprofTracing runtime.otelprofTracing
var otelprofTracing bool

//go:linkname otelprofTell runtime.otelprofTell
func otelprofTell(letter byte, object uintptr, n int)

// otelprofLater is a state that no Mutex has: its lock has not been dropped yet.
const otelprofLater = -1 << 31

// OtelprofTry is the fast path of Lock.
func (m *Mutex) OtelprofTry() bool {
	if !atomic.CompareAndSwapInt32(&m.state, 0, mutexLocked) {
		return false
	}
	if race.Enabled {
		race.Acquire(unsafe.Pointer(m))
	}
	return true
}

// OtelprofLock is the slow path.
func (m *Mutex) OtelprofLock() {
	if otelprofTracing {
		if m.OtelprofTry() {
			otelprofTell('l', uintptr(unsafe.Pointer(m)), 0)
			return
		}
		otelprofTell('L', uintptr(unsafe.Pointer(m)), 0)
	}
	m.lockSlow()
	if otelprofTracing {
		otelprofTell('l', uintptr(unsafe.Pointer(m)), 0)
	}
}

// OtelprofUnlock is Unlock.
func (m *Mutex) OtelprofUnlock() {
	if race.Enabled {
		_ = m.state
		race.Release(unsafe.Pointer(m))
	}
	state := int32(otelprofLater)
	if !otelprofTracing {
		state = atomic.AddInt32(&m.state, -mutexLocked)
	}
	if state != 0 {
		m.unlockSlow(state)
	}
}

// otelprofDrop drops the lock.
func (m *Mutex) otelprofDrop() (state int32) {
	otelprofTell('u', uintptr(unsafe.Pointer(m)), 0)
	return atomic.AddInt32(&m.state, -mutexLocked)
}
