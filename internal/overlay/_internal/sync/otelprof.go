package sync

import (
	"internal/race"
	"sync/atomic"
	"unsafe"
)

// What package sync calls in place of Lock and Unlock. Operations are written into the execution trace while one is on; other
// users of Mutex here, such as HashTrieMap, have nothing written.

//go:linkname otelprofTracing runtime.otelprofTracing
var otelprofTracing bool

//go:linkname otelprofTell runtime.otelprofTell
func otelprofTell(letter byte, object uintptr, n int)

// OtelprofLater is a state that no Mutex has: its lock has not been dropped yet.
const OtelprofLater = -1 << 31

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

// OtelprofDrop is the fast path of Unlock. It returns 0 if there is nothing more to do.
func (m *Mutex) OtelprofDrop() int32 {
	if race.Enabled {
		_ = m.state
		race.Release(unsafe.Pointer(m))
	}
	return atomic.AddInt32(&m.state, -mutexLocked)
}

// OtelprofUnlock is the slow path.
func (m *Mutex) OtelprofUnlock(state int32) {
	if state == OtelprofLater {
		otelprofTell('u', uintptr(unsafe.Pointer(m)), 0)
		if state = m.OtelprofDrop(); state == 0 {
			return
		}
	}
	m.unlockSlow(state)
}
