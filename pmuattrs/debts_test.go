package pmuattrs

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/otelprof/otelprof/internal/goroutine"
	"github.com/otelprof/otelprof/internal/testutil"
)

// elsewhere calls f on another goroutine and waits for it.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// isLocked reports whether the calling goroutine is locked to its thread, which the first line
// of its stack trace shows.
func isLocked() bool {
	var trace [128]byte
	line, _, _ := bytes.Cut(trace[:runtime.Stack(trace[:], false)], []byte("\n"))
	return bytes.Contains(line, []byte("locked to thread"))
}

// The test of the tests.
func TestIsLocked(t *testing.T) {
	elsewhere(func() {
		if isLocked() {
			t.Error("isLocked = true before LockOSThread")
		}
		runtime.LockOSThread()
		if !isLocked() {
			t.Error("isLocked = false after LockOSThread")
		}
		runtime.UnlockOSThread()
		if isLocked() {
			t.Error("isLocked = true after UnlockOSThread")
		}
	})
}

func TestDebts(t *testing.T) {
	if !goroutine.Known() {
		testutil.Lacks(t, "GOROUTINE_ID", "goroutines cannot be told apart")
	}
	elsewhere(func() {
		var d debts
		me := goroutine.Current()
		const locks = 3
		for range locks {
			runtime.LockOSThread()
			d.add(me)
		}
		runtime.LockOSThread() // the application's
		elsewhere(d.pay)
		if !isLocked() {
			t.Error("another goroutine paid")
		}
		d.pay()
		if !isLocked() {
			t.Error("the application's lock was undone")
		}
		runtime.UnlockOSThread()
		if isLocked() {
			t.Error("pay left a lock")
		}
		d.pay() // there is nothing left
	})
}

// A lock that may be another goroutine's stays where it is, and has no place any more.
func TestUnlockOfAnother(t *testing.T) {
	before := held.Load()
	if !held.take() {
		t.Fatalf("%d locks are held, want room for one more", before)
	}
	m := measurement{name: &nameState{}}
	m.unlock(false)
	if after := held.Load(); after != before || !m.name.moves.Load() {
		t.Errorf("%d locks held, and %d before; the name moves: %t, want that it does", after, before, m.name.moves.Load())
	}
}

// A goroutine whose place another one has taken keeps its lock; it does not undo the other's.
func TestDebtsOneByPlace(t *testing.T) {
	if !goroutine.Known() {
		testutil.Lacks(t, "GOROUTINE_ID", "goroutines cannot be told apart")
	}
	elsewhere(func() {
		var d debts
		me := goroutine.Current()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		d.add(me)
		d.add(me + goroutine.ID(len(d.places)))
		d.pay()
		if !isLocked() {
			t.Error("the lock of another goroutine was undone")
		}
	})
}
