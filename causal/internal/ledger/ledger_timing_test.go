package ledger

import (
	"fmt"
	"testing"
)

func BenchmarkBeginEnd(b *testing.B) {
	for _, c := range []struct {
		name   string
		region RegionID
		timed  bool
	}{{"region", 0, false}, {"other", 1, false}, {"timed", 1, true}} {
		b.Run(c.name, func(b *testing.B) {
			s, l := half(b), New()
			b.ReportAllocs()
			for t := int64(0); b.Loop(); t += 2000 {
				f := l.Begin(s, t, c.region, nil, c.timed)
				f.End(s, t+1000, false).RecordAt(s, 0)
			}
		})
	}
}

func BenchmarkStampAcquire(b *testing.B) {
	s, l := half(b), New()
	var st Stamp
	b.ReportAllocs()
	for t := int64(0); b.Loop(); t += 2000 {
		l.Stamp(s, t, &st)
		l.Acquire(s, t, t+1000, &st)
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
