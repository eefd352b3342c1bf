package ledger

import (
	"math"
	"testing"
)

// loop lets a ledger visit every 100, of which so much is in region 0.
func loop(s *Setting, l *Ledger, from, to, region int64) {
	for t := from; t < to; t += 100 {
		f := l.Begin(s, t, 0, nil, false)
		f.End(s, t+region, false)
		l.Visit(s, t+100, 1)
	}
}

func checkReduction(tb testing.TB, s *Setting, p, earlier Progress, count uint64, want ...float64) {
	tb.Helper()
	n, got := p.Since(earlier, 1)
	if n != count {
		tb.Errorf("%d visits, want %d", n, count)
	}
	for k := range want {
		if math.Abs(got[k]-want[k]) > 1e-9 {
			tb.Errorf("reduction by %+v is %g, want %g", s.Hypotheses()[k], got[k], want[k])
		}
	}
}

func TestReduction(t *testing.T) {
	s := setting(t, Hypothesis{0, 0}, Hypothesis{0, .5}, Hypothesis{0, 1})
	l := New()
	before := s.Progress()
	loop(s, l, 0, 1000, 100) // not like what follows
	warm := s.Progress()
	loop(s, l, 1000, 2000, 40)
	p := s.Progress()
	checkReduction(t, s, p, warm, 10, 0, .2, .4)
	checkReduction(t, s, p, before, 0, 0, 0, 0)
	checkReduction(t, s, p, p, 0, 0, 0, 0)
	loop(s, l, 2000, 3000, 40)
	checkReduction(t, s, p, warm, 10, 0, .2, .4) // it is a copy
	if n, _ := s.Progress().Since(warm, 0); n != 0 {
		t.Errorf("%d visits of the other point, want 0", n)
	}
}

// What would take no time has no rate, so there is a limit.
func TestReductionIsLimited(t *testing.T) {
	s, l := setting(t, Hypothesis{0, 1}), New()
	loop(s, l, 0, 1000, 100)
	warm := s.Progress()
	loop(s, l, 1000, 2000, 100)
	checkReduction(t, s, s.Progress(), warm, 10, .999)
}

// Two loops, one of them all in the region: 10 + 10 visits in 1000, or 20 + 10.
func TestLinesAddUp(t *testing.T) {
	for _, c := range []struct {
		name string
		two  func(s *Setting) (a, b *Ledger)
	}{
		{"strangers", func(*Setting) (a, b *Ledger) { return New(), New() }},
		{"siblings", func(s *Setting) (a, b *Ledger) {
			l := New()
			return l.Fork(s, 0), l.Fork(s, 0)
		}},
		{"parent and child", func(s *Setting) (a, b *Ledger) {
			l := New()
			return l, l.Fork(s, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := half(t)
			a, b := c.two(s)
			loop(s, a, 0, 1000, 100)
			loop(s, b, 0, 1000, 0)
			warm := s.Progress()
			loop(s, a, 1000, 2000, 100)
			loop(s, b, 1000, 2000, 0)
			checkReduction(t, s, s.Progress(), warm, 20, 1-20./30)
		})
	}
}

// Goroutines that visit once each are one line, with whose time goes on from one to the next.
func TestOneGoroutineEach(t *testing.T) {
	s, l := half(t), New()
	each := func(from, to int64) {
		for at := from; at < to; at += 100 {
			f := l.Begin(s, at, 0, nil, false)
			f.End(s, at+40, false)
			l.Fork(s, at+100).Visit(s, at+100, 1)
		}
	}
	each(0, 1000)
	warm := s.Progress()
	each(1000, 2000)
	checkReduction(t, s, s.Progress(), warm, 10, .2)
}

func TestTooManyLines(t *testing.T) {
	s := half(t)
	for range maxLines + 5 {
		New().Visit(s, 0, 0)
	}
	if got := s.Counts().Crowded; got != 5 {
		t.Errorf("Crowded = %d, want 5", got)
	}
}

func TestVisitOfOlderSetting(t *testing.T) {
	s, l := half(t), New()
	l.Visit(half(t), 0, 0)
	l.Visit(s, 0, 0)
	if p := s.Progress(); len(p.lines) != 0 {
		t.Errorf("%d lines, want none: the setting was replaced", len(p.lines))
	}
}

func TestLatency(t *testing.T) {
	s := setting(t, Hypothesis{0, .5}, Hypothesis{1, 1})
	if actual, _ := s.Latency(0); actual != nil {
		t.Error("latencies of a point that no span has ended at")
	}
	l := New()
	f := l.Begin(s, 0, 2, nil, true)
	l.Begin(s, 0, 0, nil, false).End(s, 400_000, false)
	v := f.End(s, 1_000_000, false)
	if v.Duration != 1_000_000 || v.Saved[0] != 200_000 || v.Saved[1] != 0 {
		t.Errorf("End = %+v, want 1000000 less 200000 and 0", v)
	}
	v.RecordAt(s, 0)
	v.RecordAt(half(t), 0) // another one
	none := l.Begin(s, 0, 2, nil, false).End(s, 1, false)
	none.RecordAt(s, 0)
	actual, virtual := s.Latency(0)
	if actual.Count() != 1 || len(virtual) != 2 {
		t.Fatalf("%d durations, by %d hypotheses, want 1 and 2", actual.Count(), len(virtual))
	}
	for k, want := range []float64{800_000, 1_000_000} {
		if got := float64(virtual[k].Max()); math.Abs(got/want-1) > latencyError {
			t.Errorf("virtual duration %d is %g, want %g", k, got, want)
		}
	}
}
