package ledger

import (
	"runtime"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A program that never ends its spans has a fixed number of them on a ledger, and the ones that it
// does end are booked as ever.
func TestSpansThatNeverEndAreGivenUp(t *testing.T) {
	s := half(t)
	l := New()
	var frames []*Frame
	for i := range int64(100_000) {
		frames = append(frames, l.Begin(s, i, 1, nil, false))
	}
	if got, want := len(l.spare), mostSpare; got != want {
		t.Errorf("%d spans in memory besides those in line, want %d", got, want)
	}
	region := l.Begin(s, 100_000, 0, nil, false)
	region.End(s, 100_200, false)
	checkSaved(t, l, s, 100_200, 100)
	for _, f := range frames { // most of them do not count any more, and some belong to the ledger still
		f.End(s, 100_300, false)
	}
	checkSaved(t, l, s, 100_400, 100)
	if got := s.Counts().Lost; got != 0 {
		t.Errorf("Lost = %d: no span of the region has been given up", got)
	}
	if _, idle := l.Last(); !idle {
		t.Error("not idle, though all spans have ended")
	}
}

// A span of the region that is given up closes the region, and that is known.
func TestSpansOfTheRegionThatAreGivenUpAreLost(t *testing.T) {
	s := half(t)
	l := New()
	for i := range inlineFrames { // these stay
		l.Begin(s, int64(i), 1, nil, false)
	}
	region := l.Begin(s, 10, 0, nil, false)
	for range mostSpare {
		l.Begin(s, 110, 1, nil, false)
	}
	if got := s.Counts().Lost; got != 1 {
		t.Errorf("Lost = %d, want the one span of the region", got)
	}
	checkSaved(t, l, s, 500, 50)
	region.End(s, 600, false)
	checkSaved(t, l, s, 700, 50)
}

// A ledger that has been given up books nothing, and its spans may still end and have children.
func TestAbandon(t *testing.T) {
	s := half(t)
	l := New()
	outer := l.Begin(s, 0, 0, nil, true)
	inner := l.Begin(s, 10, 1, nil, false)
	l.Abandon(100)
	if !l.Gone() || s.Counts().Lost != 1 {
		t.Errorf("Gone() = %v, Lost = %d, want true and 1: the region was open", l.Gone(), s.Counts().Lost)
	}
	if got := s.Growth().At(1000); got != 50 {
		t.Errorf("growth at 1000 = %d, want that of the time until it was given up, 50", got)
	}
	other := New()
	below := other.Begin(s, 1000, 1, inner, false)
	below.End(s, 1100, false)
	if got := other.Saved(s, 1100); got != 50 {
		t.Errorf("a child's span within the region has saved %d, want 50", got)
	}
	inner.End(s, 1200, false)
	if d := outer.End(s, 1300, false); d != (Duration{}) {
		t.Errorf("End = %+v, want nothing", d)
	}
	checkSaved(t, l, s, 1300, 0)
	if child := l.Fork(s, 1400); child.Saved(s, 1400) != 0 {
		t.Error("a fork has saved something")
	}
}

// A ledger may be given up just before a span begins on it, below one that is within the region.
func TestSpansBelowTheRegionAfterAbandon(t *testing.T) {
	s := half(t)
	outer := New().Begin(s, 0, 0, nil, false)
	l := New()
	l.Abandon(10)
	inner := l.Begin(s, 20, 1, outer, true)
	inner.End(s, 120, false)
	checkSaved(t, l, s, 130, 0)
	outer.End(s, 200, false)
	checkGrowth(t, s, 300, 100)
}

// All methods may be called on a nil ledger.
func TestNilLedger(t *testing.T) {
	s := half(t)
	var l *Ledger
	st := Stamp{serial: s.serial, t: 5}
	l.Arrive(s, 1)
	l.Acquire(s, 1, 2, &st)
	l.Resume(s, 1, 2)
	l.Stamp(s, 3, &st)
	if st != (Stamp{}) {
		t.Errorf("Stamp = %+v, want one that says nothing", st)
	}
	if f := l.Begin(s, 4, 0, nil, true); f != nil {
		t.Error("Begin has a frame")
	}
	paid := l.Pay(s, func() int64 { return 5 }, func(int64) int64 { t.Error("it waits"); return 1 })
	if paid != 0 || l.Debt(s, 5) != 0 || l.Saved(s, 5) != 0 {
		t.Error("it owes, or has saved something")
	}
	if l.Fork(s, 6) == nil {
		t.Error("Fork = nil")
	}
}

// Neither stamps nor ledgers that have been given up keep a setting in memory.
func TestSettingsAreCollected(t *testing.T) {
	const n = 200
	freed := make(chan struct{}, n)
	var stamps [n]Stamp
	var frames [n]*Frame
	for i := range n {
		s := half(t)
		runtime.AddCleanup(s, func(struct{}) { freed <- struct{}{} }, struct{}{})
		l := New()
		frames[i] = l.Begin(s, 0, 0, nil, false) // and is never ended
		l.Stamp(s, 1, &stamps[i])
		l.Abandon(2)
	}
	if !testutil.Eventually(func() bool { // cleanups have a goroutine of their own
		runtime.GC()
		return len(freed) == n
	}) {
		t.Errorf("%d of %d settings are collected", len(freed), n)
	}
	runtime.KeepAlive(stamps)
	runtime.KeepAlive(frames)
}
