package ledger

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLedgerConcurrentSafe has goroutines that use each other's ledgers and frames, by a clock that
// all of them push, while settings come and go.
func TestLedgerConcurrentSafe(t *testing.T) {
	const workers, steps = 8, 2000
	var (
		clock   atomic.Int64
		current atomic.Pointer[Setting]
		wg      sync.WaitGroup
		locks   [3]struct {
			mu sync.Mutex
			st Stamp
		}
		shared  [workers]atomic.Pointer[Frame] // of each worker's first span
		ledgers [workers]*Ledger
	)
	now := func() int64 { return clock.Add(50) }
	next := func(i int) *Setting {
		if i%2 == 0 {
			return NewSetting(1)
		}
		return half(t)
	}
	current.Store(next(0))
	for i := range ledgers {
		ledgers[i] = New()
	}
	for i := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			l := ledgers[i]
			for range steps {
				s := current.Load()
				outer := l.Begin(s, now(), RegionID(r.IntN(2)), nil, true)
				shared[i].Store(outer)
				parent := shared[r.IntN(workers)].Load()
				if parent == nil || parent.Ledger() == l {
					parent = nil
				}
				child := l.Fork(s, now())
				inner := child.Begin(s, now(), 0, parent, false)

				lock := &locks[r.IntN(len(locks))]
				at := now()
				l.Arrive(s, at)
				lock.mu.Lock()
				l.Acquire(s, at, now(), &lock.st)
				l.Stamp(s, now(), &lock.st)
				lock.mu.Unlock()

				inner.End(s, now(), r.IntN(2) == 0)
				shared[i].Store(nil)
				outer.End(s, now(), false).RecordAt(s, 0)
				l.Pay(s, now, func(ns int64) int64 { clock.Add(ns / 1000); return ns })
				other := ledgers[r.IntN(workers)]
				other.Last()
				other.Saved(s, now())
				other.Debt(s, now())
			}
		})
	}
	for i := range 50 {
		s := current.Load()
		s.Counts()
		s.Latency(0)
		if g := s.Growth(); g != nil {
			g.At(now())
		}
		current.Store(next(i + 1))
	}
	wg.Wait()
	for i, l := range ledgers {
		if _, idle := l.Last(); !idle {
			t.Errorf("ledger %d is not idle at the end", i)
		}
		if l.children != 0 {
			t.Errorf("ledger %d has %d children at the end, want 0", i, l.children)
		}
	}
}

func TestLedgerAllocs(t *testing.T) {
	s, p := half(t), half(t)
	l, child, payer := New(), New(), New()
	at := int64(0)
	now := func() int64 { at += 1000; return at }
	wait := func(ns int64) int64 { at += ns; return ns }
	var st Stamp
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"BeginEnd", func() {
			f := l.Begin(s, now(), 0, nil, true)
			f.End(s, now(), false).RecordAt(s, 0)
		}},
		{"BeginEndOfChild", func() {
			f := l.Begin(s, now(), 0, nil, false)
			child.Begin(s, now(), 1, f, false).End(s, now(), false)
			f.End(s, now(), false)
		}},
		{"StampAcquire", func() {
			l.Stamp(s, now(), &st)
			l.Acquire(s, at, now(), &st)
		}},
		{"Pay", func() {
			child.Begin(p, now(), 0, nil, false).End(p, now()+100_000, false)
			payer.Pay(p, now, wait)
		}},
	} {
		c.f()
		if n := testing.AllocsPerRun(100, c.f); n != 0 {
			t.Errorf("%s: %g allocations, want 0", c.name, n)
		}
	}
}
