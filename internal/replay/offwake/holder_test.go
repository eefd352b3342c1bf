package offwake

import (
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Of several that wait for one lock each gets it from the one before, which has it for a moment.
// All have waited for the one that held it long.
func TestHolderIsWhoHeldItLong(t *testing.T) {
	const ms = int64(time.Millisecond)
	job := trace.Region{Scope: "shop", Name: "job"}
	s := newScript(t, []string{"sync.(*Mutex).Lock", "main.handle"}, []string{"sync.(*Mutex).Unlock", "main.sweep"}, []string{"sync.(*Mutex).Unlock", "main.handle"})
	for g := int64(1); g <= 4; g++ {
		s.Running(0, g)
	}
	s.Open(0, 4, 1, 0, job)
	for g := int64(1); g <= 3; g++ {
		s.Open(ms, g, uint64(10+g), 0, order)
		s.wait((1+g)*ms, g, trace.WaitMutex, 1)
	}
	s.ready(30*ms, 1, 4, 2) // by the job
	s.Start(30*ms, 1, 0)
	s.ready(31*ms, 2, 1, 3) // by the one before
	s.Start(31*ms, 2, 0)
	s.ready(32*ms, 3, 2, 3)
	s.Start(32*ms, 3, 0)
	rows := rowsOf(t, s.read(40*ms), order)
	if len(rows) != 1 || rows[0].By != job || rows[0].ByPlace != "main.sweep:7" || rows[0].Count != 3 || rows[0].Total != time.Duration(28+28+28)*time.Millisecond {
		t.Errorf("rows %+v, want one of three waits for the job", rows)
	}
}

// A queue that never ends keeps no memory of all that were in it.
func TestHandoversAreForgotten(t *testing.T) {
	s := newScript(t, []string{"sync.(*Mutex).Lock", "main.handle"}, []string{"sync.(*Mutex).Unlock", "main.handle"})
	s.Running(0, 1)
	s.Running(0, 2)
	s.Open(0, 1, 1, 0, order)
	s.Open(0, 2, 2, 0, stock)
	for i := range int64(1000) { // each waits for the other, in turn
		g, other := 1+i%2, 2-i%2
		s.wait(100*i+10, g, trace.WaitMutex, 1)
		s.ready(100*i+50, g, other, 2)
		s.Start(100*i+50, g, 0)
	}
	r := s.Recording(1e6)
	w := newWalk(r)
	for i := range r.Events {
		w.event(&r.Events[i])
	}
	n := 0
	for h := w.goroutines[0].lock; h != nil; h = h.before {
		n++
	}
	if n < 2 || n > 2*mostHandovers {
		t.Errorf("%d handovers are kept, want at most %d", n, 2*mostHandovers)
	}
}

// A goroutine without a span that had the lock in between ends the time of the one before it.
func TestHolderBeforeAGoroutineWithoutSpan(t *testing.T) {
	const ms = int64(time.Millisecond)
	job := trace.Region{Scope: "shop", Name: "job"}
	s := newScript(t, []string{"sync.(*Mutex).Lock", "main.handle"}, []string{"sync.(*Mutex).Unlock", "main.sweep"}, []string{"sync.(*Mutex).Unlock", "main.handle"})
	for g := int64(1); g <= 3; g++ {
		s.Running(0, g)
	}
	s.Open(0, 3, 1, 0, job)
	s.Open(0, 1, 2, 0, order)
	s.wait(1*ms, 2, trace.WaitMutex, 1)
	s.wait(2*ms, 1, trace.WaitMutex, 1)
	s.ready(30*ms, 2, 3, 2)
	s.Start(30*ms, 2, 0)
	s.ready(31*ms, 1, 2, 3)
	s.Start(31*ms, 1, 0)
	rows := rowsOf(t, s.read(40*ms), order)
	if len(rows) != 1 || rows[0].By != job || rows[0].ByPlace != "main.sweep:7" || rows[0].Total != 29*time.Millisecond {
		t.Errorf("rows %+v, want one wait of 29 ms for the job", rows)
	}
}
