package ledger

import "testing"

// A parent begins at 0 and starts a child at 10, within the region, which ends at 50.
func TestImpliedWait(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 1, nil, false)
	alive(l, s, 10)
	child := l.Fork(s, 10)
	cf := child.Begin(s, 10, 0, f, false)
	cf.End(s, 50, false)
	checkSaved(t, child, s, 50, 20)
	checkSaved(t, l, s, 60, 0) // it is not known yet that it has waited
	alive(l, s, 60)
	checkSaved(t, l, s, 60, 20)
	if got := s.Counts(); got.Attributed != 40 {
		t.Errorf("Counts() = %+v, want 40 attributed", got)
	}
	f.End(s, 100, false)
	checkSaved(t, l, s, 100, 20)
}

func TestImpliedWaitForAll(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 1, nil, false)
	a, b := New().Begin(s, 0, 0, f, false), New().Begin(s, 0, 1, f, false)
	a.End(s, 100, false)
	alive(l, s, 105) // one child is still open: no wait is over
	checkSaved(t, l, s, 105, 0)
	b.End(s, 120, false)
	f.End(s, 130, false)
	// The other child has ended at 120, virtually too.
	checkSaved(t, l, s, 130, 0)
}

func TestToldWaitTakesThePlaceOfImplied(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 1, nil, false)
	cf := New().Begin(s, 0, 0, f, false)
	l.Arrive(s, 10)
	cf.End(s, 100, false)
	l.Resume(s, 10, 100)
	checkSaved(t, l, s, 100, 45) // what has grown meanwhile is forgiven, and no more
	f.End(s, 110, false)
	checkSaved(t, l, s, 110, 45)
	if got := s.Counts().Attributed; got != 0 {
		t.Errorf("Attributed = %d, want 0: no wait for children is implied", got)
	}
}

func TestChildInheritsRegion(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 0, nil, false)
	child := New()
	cf := child.Begin(s, 10, 1, f, false)
	cf.End(s, 50, false)
	checkSaved(t, child, s, 50, 20)
	f.End(s, 60, false)
	// The parent has been in the region from 0 to 50 too, on the same grounds, until it joined.
	checkSaved(t, l, s, 60, 20)
}

func TestChildAfterParent(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 0, nil, false)
	f.End(s, 10, false)
	child := New()
	cf := child.Begin(s, 20, 1, f, false)
	next := l.Begin(s, 30, 1, nil, false) // in the same frame
	cf.End(s, 50, false)
	next.End(s, 60, false)
	checkSaved(t, child, s, 50, 0)
	checkSaved(t, l, s, 60, 5)
	if got := s.Counts().Attributed; got != 0 {
		t.Errorf("Attributed = %d, want 0: no wait for children is implied", got)
	}
}

func TestChildThatIsNotWaitedFor(t *testing.T) {
	s, l := half(t), New()
	f := l.Begin(s, 0, 1, nil, false)
	cf := New().Begin(s, 0, 0, f, false)
	f.End(s, 10, false)
	cf.End(s, 100, false)
	alive(l, s, 110)
	checkSaved(t, l, s, 110, 0)
	if l.children != 0 {
		t.Errorf("%d children, want 0", l.children)
	}
}

// A goroutine that waits for a child waits for its payment as well.
func TestChildThatPays(t *testing.T) {
	s := paid(t, .5)
	l := New()
	f := l.Begin(s, 0, 1, nil, false)
	a, b := New(), New()
	af, bf := a.Begin(s, 0, 0, f, false), b.Begin(s, 0, 1, f, false)
	const ms = 1_000_000
	af.End(s, 10*ms, false) // in the region
	now := int64(10 * ms)
	bf.End(s, now, false)
	b.Pay(s, func() int64 { return now }, func(ns int64) int64 { now += ns; return ns })
	if now != 15*ms {
		t.Fatalf("the child has paid until %d, want %d", now, 15*ms)
	}
	f.End(s, now, false)
	if debt := l.Debt(s, now); debt != 0 {
		t.Errorf("Debt = %d, want 0: both children are at %d, and so the parent", debt, 10*ms)
	}
}

// Who has waited for the region itself owes nothing for it, and an operation that need not wait
// forgets no wait.
func TestChildrenWaitedFor(t *testing.T) {
	const ms = 1_000_000
	s, l := paid(t, .5), New()
	f := l.Begin(s, 0, 1, nil, false)
	l.Fork(s, 0).Begin(s, 0, 0, f, false).End(s, 100*ms, false)
	if d := l.Debt(s, 100*ms); d != 0 {
		t.Errorf("Debt = %d, want 0", d)
	}
	s, l = half(t), New()
	f = l.Begin(s, 0, 1, nil, false)
	l.Fork(s, 0).Begin(s, 0, 0, f, false).End(s, 100, false)
	l.Acquire(s, 110, 110, &Stamp{}) // a lock that is free
	checkSaved(t, l, s, 110, 50)
}

// What runs beside the region, below the same span, is not in it.
func TestSiblingOfTheRegion(t *testing.T) {
	s, l := half(t), New()
	request := l.Begin(s, 0, 1, nil, false)
	process := l.Begin(s, 0, 0, nil, false)
	other := New()
	audit := other.Begin(s, 1, 2, request, false)
	process.End(s, 10, false)
	audit.End(s, 101, false)
	checkSaved(t, other, s, 101, 0)
}
