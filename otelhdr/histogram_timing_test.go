package otelhdr

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func BenchmarkRecord(b *testing.B) {
	values := latencies(4096)
	b.Run("kind=Histogram/goroutines=1", func(b *testing.B) {
		h := mustNew(b)
		b.ReportAllocs()
		for i := range b.N {
			h.Record(values[i%4096])
		}
		b.ReportMetric(float64(h.SizeBytes()), "bytes")
	})
	b.Run("kind=Histogram32/goroutines=1", func(b *testing.B) {
		h := mustNew(b, WithCounter32())
		b.ReportAllocs()
		for i := range b.N {
			h.Record(values[i%4096])
		}
		b.ReportMetric(float64(h.SizeBytes()), "bytes")
	})
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("kind=Recorder/goroutines=%d", goroutines), func(b *testing.B) {
			c := mustNewConcurrent(b)
			b.ReportAllocs()
			var ready, done sync.WaitGroup
			ready.Add(goroutines)
			for range goroutines {
				done.Go(func() {
					r := c.Recorder()
					defer r.Close()
					ready.Done()
					ready.Wait()
					for i := range b.N {
						r.Record(values[i%4096])
					}
				})
			}
			done.Wait()
			b.ReportMetric(float64(c.SizeBytes()), "bytes")
		})
	}
	for _, goroutines := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("kind=Concurrent/goroutines=%d", goroutines), func(b *testing.B) {
			c := mustNewConcurrent(b)
			b.ReportAllocs()
			var ready, done sync.WaitGroup
			ready.Add(goroutines)
			for range goroutines {
				done.Go(func() {
					ready.Done()
					ready.Wait()
					for i := range b.N {
						c.Record(values[i%4096])
					}
				})
			}
			done.Wait()
			// Time of one goroutine for one record: more than with goroutines=1 only as far as they
			// disturb each other or outnumber the processors.
			b.ReportMetric(float64(c.SizeBytes()), "bytes")
			b.ReportMetric(float64(len(c.set.Load().stripes)), "stripes")
		})
	}
}

func BenchmarkScope(b *testing.B) {
	h := mustNew(b)
	b.ReportAllocs()
	for b.Loop() {
		h.Time(time.Nanosecond).Stop()
	}
}

func BenchmarkRecordCorrected(b *testing.B) {
	h := mustNew(b)
	b.ReportAllocs()
	for b.Loop() {
		h.RecordCorrected(1_000_000_000, 1_000_000)
	}
}

func BenchmarkMerge(b *testing.B) {
	h := mustNew(b)
	for _, v := range latencies(100_000) {
		h.Record(v)
	}
	s, sum := h.Snapshot(nil), h.Snapshot(nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := sum.Merge(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	h, c := mustNew(b), mustNewConcurrent(b)
	for _, v := range latencies(100_000) {
		h.Record(v)
		c.Record(v)
	}
	for name, r := range map[string]recorder{"kind=Histogram": h, "kind=Concurrent": c} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := r.Snapshot(nil)
			for b.Loop() {
				s = r.Snapshot(s)
			}
		})
	}
}

func BenchmarkPercentiles(b *testing.B) {
	h := mustNew(b)
	for _, v := range latencies(100_000) {
		h.Record(v)
	}
	s := h.Snapshot(nil)
	ranks := []float64{0, 50, 90, 99, 99.9, 100}
	dst := make([]uint64, len(ranks))
	b.ReportAllocs()
	for b.Loop() {
		s.Percentiles(ranks, dst)
	}
}

func BenchmarkExponential(b *testing.B) {
	h := mustNew(b)
	for _, v := range latencies(100_000) {
		h.Record(v)
	}
	s := h.Snapshot(nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Exponential(8, 1e-9)
	}
}
