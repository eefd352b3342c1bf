package highrate

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

// samplesOf returns a copy of some samples of this process.
func samplesOf(t testing.TB) []perf.Sample {
	t.Helper()
	// Or skip. It must not go on beside what is measured.
	if err := start(t).Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	s, err := perf.OpenSampler(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	spin(100 * time.Millisecond)
	var out []perf.Sample
	s.Read(func(sample *perf.Sample) {
		kept := *sample
		kept.Stack = append([]uint64(nil), sample.Stack...)
		out = append(out, kept)
	})
	return out
}

func TestAddAllocs(t *testing.T) {
	samples := samplesOf(t)
	s := newSymbols()
	addAll := func() {
		for i := range samples {
			s.add(&samples[i])
		}
	}
	addAll()
	if n := testing.AllocsPerRun(100, addAll); n != 0 {
		t.Errorf("%d samples that were seen before allocate %v times, want 0", len(samples), n)
	}
}

// BenchmarkAdd is what the reader does for each sample.
func BenchmarkAdd(b *testing.B) {
	samples := samplesOf(b)
	s := newSymbols()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.add(&samples[i])
		if i++; i == len(samples) {
			i = 0
		}
	}
}

// BenchmarkThroughput does the same work with and without the profiler, in turn, by the CPU time of
// its thread, which the samples are taken on. 1 means that the profiler costs nothing.
func BenchmarkThroughput(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	work := func() time.Duration {
		var u perf.Usage
		_ = perf.ThreadUsage(&u)
		begin := u.CPU
		for range 200 {
			spinLeaf()
		}
		_ = perf.ThreadUsage(&u)
		return u.CPU - begin
	}
	var ratios []float64
	for b.Loop() {
		without := work()
		p, err := NewProfiler()
		if err != nil {
			b.Fatal(err)
		}
		with := work()
		if err := p.Shutdown(context.Background()); err != nil {
			b.Fatal(err)
		}
		ratios = append(ratios, float64(without)/float64(with))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "throughput-ratio")
}
