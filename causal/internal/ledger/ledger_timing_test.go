package ledger

import (
	"fmt"
	"testing"
)

// wide returns a setting with so many hypotheses, all about region 0.
func wide(tb testing.TB, n int) *Setting {
	tb.Helper()
	hypotheses := make([]Hypothesis, n)
	for k := range hypotheses {
		hypotheses[k].Speedup = float64(k) / float64(n)
	}
	s, err := NewSetting(hypotheses, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func BenchmarkBeginEnd(b *testing.B) {
	for _, n := range []int{1, Width} {
		for _, region := range []RegionID{0, 1} {
			b.Run(fmt.Sprintf("hypotheses=%d/selected=%v", n, region == 0), func(b *testing.B) {
				s, l := wide(b, n), New()
				b.ReportAllocs()
				for t := int64(0); b.Loop(); t += 2000 {
					f := l.Begin(s, t, region, nil, false)
					f.End(s, t+1000, false)
				}
			})
		}
	}
	b.Run("paid", func(b *testing.B) {
		s, l := paid(b, .5), New()
		b.ReportAllocs()
		for t := int64(0); b.Loop(); t += 2000 {
			f := l.Begin(s, t, 0, nil, false)
			f.End(s, t+1000, false)
		}
	})
	b.Run("timed", func(b *testing.B) {
		s, l := wide(b, Width), New()
		b.ReportAllocs()
		for t := int64(0); b.Loop(); t += 2000 {
			f := l.Begin(s, t, 1, nil, true)
			v := f.End(s, t+1000, false)
			v.RecordAt(s, 0)
		}
	})
}

func BenchmarkStampAcquire(b *testing.B) {
	for _, n := range []int{1, Width} {
		b.Run(fmt.Sprintf("hypotheses=%d", n), func(b *testing.B) {
			s, l := wide(b, n), New()
			var st Stamp
			b.ReportAllocs()
			for t := int64(0); b.Loop(); t += 2000 {
				l.Stamp(s, t, &st)
				l.Acquire(s, t, t+1000, &st)
			}
		})
	}
}

func BenchmarkVisit(b *testing.B) {
	s, l := wide(b, Width), New()
	b.ReportAllocs()
	for t := int64(0); b.Loop(); t += 1000 {
		l.Visit(s, t, 0)
	}
}

func BenchmarkPayNothing(b *testing.B) {
	s, l := paid(b, .5), New()
	now := func() int64 { return 0 }
	wait := func(ns int64) int64 { return ns }
	b.ReportAllocs()
	for b.Loop() {
		l.Pay(s, now, wait)
	}
}

func BenchmarkGrowthAt(b *testing.B) {
	for _, n := range []int{1, growing} {
		b.Run(fmt.Sprintf("growing=%d", n), func(b *testing.B) {
			s := paid(b, .5)
			for range n {
				New().Begin(s, 0, 0, nil, false)
			}
			for t := int64(0); b.Loop(); t++ {
				s.Growth().At(t)
			}
		})
	}
}

func paid(tb testing.TB, speedup float64) *Setting {
	tb.Helper()
	s, err := NewPaidSetting(Hypothesis{Region: 0, Speedup: speedup}, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
