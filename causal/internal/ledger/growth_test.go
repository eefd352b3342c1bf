package ledger

import (
	"sync"
	"sync/atomic"
	"testing"
)

func checkGrowth(tb testing.TB, s *Setting, t, want int64) {
	tb.Helper()
	if got := s.Growth().At(t); got != want {
		tb.Errorf("growth at %d = %d, want %d", t, got, want)
	}
}

func TestGrowth(t *testing.T) {
	s := paid(t, .5)
	a, b := New(), New()
	fa := a.Begin(s, 0, 0, nil, false)
	checkGrowth(t, s, 100, 50)
	fb := b.Begin(s, 100, 0, nil, false) // side by side: that saves nothing more
	checkGrowth(t, s, 200, 100)
	fa.End(s, 200, false)
	checkGrowth(t, s, 300, 100) // a has saved 100, b as much
	fb.End(s, 300, false)
	checkGrowth(t, s, 400, 100)
}

func TestGrowthOfMoreThanSlots(t *testing.T) {
	s := paid(t, .5)
	frames := make([]*Frame, growing+10)
	for i := range frames {
		frames[i] = New().Begin(s, 0, 0, nil, false)
	}
	checkGrowth(t, s, 100, 50)
	for _, f := range frames {
		f.End(s, 100, false)
	}
	checkGrowth(t, s, 200, 50)
	for i := range s.growth.slots {
		if s.growth.slots[i].used.Load() {
			t.Errorf("slot %d is in use, want none", i)
		}
	}
	// Those that have no slot are seen when they settle.
	for i := range frames {
		frames[i] = New().Begin(s, 200, 0, nil, false)
	}
	last := frames[len(frames)-1]
	last.Ledger().credit = 1000 // as if it had paid as much
	last.Ledger().base = 50
	last.End(s, 300, false)
	checkGrowth(t, s, 300, 100)
}

// TestGrowthNeverFallsConcurrentSafe reads the growth while the region is entered and left all the
// time: what it has grown to stays.
func TestGrowthNeverFallsConcurrentSafe(t *testing.T) {
	s := paid(t, .5)
	var now, ended atomic.Int64
	var owner sync.WaitGroup
	owner.Go(func() {
		defer ended.Store(1)
		l := New()
		for at := int64(0); at < 200_000_000; at += 1000 {
			f := l.Begin(s, at, 0, nil, false)
			now.Store(at + 500)
			f.End(s, at+1000, false)
		}
	})
	last := int64(0)
	for ended.Load() == 0 {
		growth := s.Growth().At(now.Load())
		if growth < last {
			t.Errorf("growth %d after %d", growth, last)
			break
		}
		last = growth
	}
	owner.Wait()
}

func TestGrowthStopsWhileItWaits(t *testing.T) {
	s, l := paid(t, .5), New()
	l.Begin(s, 0, 0, nil, false)
	l.Arrive(s, 100)
	checkGrowth(t, s, 200, 50)
	l.Resume(s, 100, 200)
	checkGrowth(t, s, 300, 100)
}

// purse pays, by a clock that goes on while it does.
type purse struct {
	now  int64
	late int64 // of each payment
	no   bool
	paid []int64
}

func (p *purse) pay(l *Ledger, s *Setting) int64 {
	return l.Pay(s, func() int64 { return p.now }, func(ns int64) int64 {
		if p.no {
			return 0
		}
		p.paid = append(p.paid, ns)
		p.now += ns + p.late
		return ns + p.late
	})
}

func TestPay(t *testing.T) {
	const ms = 1_000_000
	s := paid(t, .5)
	rich, poor := New(), New()
	rich.Begin(s, 0, 0, nil, false).End(s, 10*ms, false)
	p := &purse{now: 10 * ms, late: ms}

	f := poor.Begin(s, p.now, 0, nil, false)
	if got := p.pay(poor, s); got != 0 {
		t.Errorf("Pay = %d in the region, want 0", got)
	}
	f.End(s, p.now, false)
	poor.Arrive(s, p.now)
	if got := p.pay(poor, s); got != 0 {
		t.Errorf("Pay = %d while it waits, want 0", got)
	}
	poor.Resume(s, p.now, p.now)
	p.no = true
	if got := p.pay(poor, s); got != 0 || s.Counts().Left != 5*ms {
		t.Errorf("Pay = %d, left %d, want 0 and %d", got, s.Counts().Left, 5*ms)
	}
	p.no = false
	if got := p.pay(poor, s); got != 6*ms {
		t.Errorf("Pay = %d, want %d: 5 ms owed, 1 ms too long", got, 6*ms)
	}
	checkSaved(t, poor, s, p.now, 6*ms)
	checkGrowth(t, s, p.now, 5*ms) // an overlong payment is no other ledger's debt
	if c := s.Counts(); c.Owed != 5*ms || c.Paid != 6*ms {
		t.Errorf("Counts() = %+v, want 5 ms owed and 6 ms paid", c)
	}

	// The next 2 ms of growth: one is paid for.
	rich.Begin(s, p.now, 0, nil, false).End(s, p.now+4*ms, false)
	p.now, p.late = p.now+4*ms, 0
	if got := p.pay(poor, s); got != ms {
		t.Errorf("Pay = %d, want %d", got, ms)
	}
	if got := p.pay(rich, s); got != 0 {
		t.Errorf("Pay = %d of who owes nothing, want 0", got)
	}
}

// The growth goes on while a goroutine pays. That is paid too, until it is not worth it.
func TestPayGrowing(t *testing.T) {
	const ms = 1_000_000
	s := paid(t, .5)
	New().Begin(s, 0, 0, nil, false)
	l, p := New(), &purse{now: 10 * ms}
	p.pay(l, s)
	if debt := l.Debt(s, p.now); debt >= leastDebt {
		t.Errorf("Debt = %d after paying, want less than %d", debt, leastDebt)
	}
	if len(p.paid) != 10 || p.paid[0] != 5*ms || p.paid[1] != 5*ms/2 {
		t.Errorf("payments %v, want ten, each half of the one before", p.paid)
	}
}

// Where a wait was for an unknown goroutine, what has grown meanwhile is forgiven.
func TestResumeForgives(t *testing.T) {
	const ms = 1_000_000
	s := paid(t, .5)
	New().Begin(s, 0, 0, nil, false)
	l := New()
	l.Arrive(s, 10*ms)
	l.Resume(s, 10*ms, 30*ms)
	if debt := l.Debt(s, 30*ms); debt != 5*ms {
		t.Errorf("Debt = %d, want %d, from before the wait", debt, 5*ms)
	}
}

func TestNobodyPays(t *testing.T) {
	s, l := NewSetting(1), New()
	New().Begin(s, 0, 0, nil, false)
	if got := (&purse{now: 1e9}).pay(l, s); got != 0 || l.Debt(s, 1e9) != 0 {
		t.Errorf("Pay = %d, want 0", got)
	}
}
