package ledger

import (
	"math"
	"testing"
)

func TestLatency(t *testing.T) {
	s, l := half(t), New()
	if s.Latency(0) != nil {
		t.Error("latencies of a point that no span has ended at")
	}
	f := l.Begin(s, 0, 2, nil, true)
	l.Begin(s, 0, 0, nil, false).End(s, 400_000, false)
	d := f.End(s, 1_000_000, false)
	if d.Real != 1_000_000 || d.Saved != 200_000 {
		t.Errorf("End = %+v, want 1000000 less 200000", d)
	}
	d.RecordAt(s, 0)
	d.RecordAt(half(t), 0) // another one
	l.Begin(s, 0, 2, nil, false).End(s, 1, false).RecordAt(s, 0)
	checkLatency(t, s, 1, 800_000)
	s.Record(0, 2_000_000, 500_000)
	checkLatency(t, s, 2, 1_500_000)
}

func checkLatency(t *testing.T, s *Setting, count uint64, most float64) {
	t.Helper()
	got := s.Latency(0)
	if got.Count() != count {
		t.Errorf("%d durations, want %d", got.Count(), count)
	}
	if longest := float64(got.Max()); math.Abs(longest/most-1) > latencyError {
		t.Errorf("the longest virtual duration is %g, want %g", longest, most)
	}
}
