package sync

import (
	"sync/atomic"
	"unsafe"
)

// Operations are written into the execution trace while one is on.

//go:linkname otelprofTracing runtime.otelprofTracing
var otelprofTracing bool

//go:linkname otelprofTell runtime.otelprofTell
func otelprofTell(letter byte, object uintptr, n int)

func (m *Mutex) otelprofTell(letter byte)    { otelprofTell(letter, uintptr(unsafe.Pointer(m)), 0) }
func (rw *RWMutex) otelprofTell(letter byte) { otelprofTell(letter, uintptr(unsafe.Pointer(rw)), 0) }
func (c *Cond) otelprofTell(letter byte)     { otelprofTell(letter, uintptr(unsafe.Pointer(c)), 0) }

func (wg *WaitGroup) otelprofTell(letter byte) { otelprofTell(letter, uintptr(unsafe.Pointer(wg)), 0) }

func (wg *WaitGroup) otelprofAdd(delta int) { otelprofTell('g', uintptr(unsafe.Pointer(wg)), delta) }

// otelprofLater is a count of readers that no RWMutex has: it has not been changed yet.
const otelprofLater = -1 << 31

// The count of readers is changed as an int32.
const _ = -(unsafe.Sizeof(atomic.Int32{}) - unsafe.Sizeof(int32(0)))

// otelprofRLock is the rest of RLock.
func (rw *RWMutex) otelprofRLock(readers int32) {
	tracing := readers == otelprofLater
	if tracing {
		readers = rw.readerCount.Add(1)
	}
	if readers < 0 {
		if tracing {
			rw.otelprofTell('A')
		}
		runtime_SemacquireRWMutexR(&rw.readerSem, false, 1)
	}
	if otelprofTracing {
		rw.otelprofTell('a')
	}
}

// otelprofLeave counts one reader less.
func (rw *RWMutex) otelprofLeave() (readers int32) {
	rw.otelprofTell('b')
	return rw.readerCount.Add(-1)
}

// otelprofLockWriters locks rw.w, and reports whether it has written that it waits.
func (rw *RWMutex) otelprofLockWriters() (written bool) {
	if rw.w.mu.OtelprofTry() {
		return false
	}
	if written = otelprofTracing; written {
		rw.otelprofTell('W')
	}
	rw.w.mu.Lock()
	return written
}

// otelprofAwait writes that Lock waits for readers, unless that is written.
func (rw *RWMutex) otelprofAwait(written bool) {
	if !written {
		rw.otelprofTell('W')
	}
}
