package sync

import "unsafe"

// Operations are written into the execution trace while one is on.

//go:linkname otelprofTracing runtime.otelprofTracing
var otelprofTracing bool

//go:linkname otelprofTell runtime.otelprofTell
func otelprofTell(letter byte, object uintptr, n int)

func (m *Mutex) otelprofTell(letter byte)    { otelprofTell(letter, uintptr(unsafe.Pointer(m)), 0) }
func (rw *RWMutex) otelprofTell(letter byte) { otelprofTell(letter, uintptr(unsafe.Pointer(rw)), 0) }
func (c *Cond) otelprofTell(letter byte)     { otelprofTell(letter, uintptr(unsafe.Pointer(c)), 0) }

func (wg *WaitGroup) otelprofTell(letter byte) { otelprofTell(letter, uintptr(unsafe.Pointer(wg)), 0) }
func (wg *WaitGroup) otelprofAdd(delta int)    { otelprofTell('g', uintptr(unsafe.Pointer(wg)), delta) }

// otelprofLater is a count of readers that no RWMutex has: it has not been changed yet, since that is to be done
// between two operations that are written.
const otelprofLater = -1 << 31

// otelprofEnter counts one more reader, in RLock.
func (rw *RWMutex) otelprofEnter() int32 {
	if otelprofTracing {
		return otelprofLater
	}
	return rw.readerCount.Add(1)
}

// otelprofRLock is the rest of RLock if a writer is pending, or a trace on.
func (rw *RWMutex) otelprofRLock(readers int32) {
	written := readers == otelprofLater
	if written {
		readers = rw.readerCount.Add(1)
	}
	if readers < 0 {
		if written {
			rw.otelprofTell('A')
		}
		runtime_SemacquireRWMutexR(&rw.readerSem, false, 1)
	}
	if otelprofTracing {
		rw.otelprofTell('a')
	}
}

// otelprofLeave counts one reader less, in RUnlock.
func (rw *RWMutex) otelprofLeave() int32 {
	if otelprofTracing {
		return otelprofLater
	}
	return rw.readerCount.Add(-1)
}

// otelprofRUnlock does that later, in rUnlockSlow.
func (rw *RWMutex) otelprofRUnlock() int32 {
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
