package replay

import (
	"bytes"
	"context"
	"math"
	"os"
	"testing"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil/heapuse"
)

// benchTraces are the execution traces to analyse: the file that REPLAY_TRACE names, or else those
// of a service, see [busyService], which has marked its operations on locks and channels, and which
// has not: some million events each.
func benchTraces(b *testing.B, f func(b *testing.B, text []byte)) {
	b.Helper()
	if name := os.Getenv("REPLAY_TRACE"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		f(b, text)
		return
	}
	for _, known := range []bool{true, false} {
		name := "stock"
		if known {
			name = "known"
		}
		b.Run(name, func(b *testing.B) { f(b, benchTrace(b, known)) })
	}
}

var benchTexts = map[bool][]byte{}

func benchTrace(b *testing.B, known bool) []byte {
	b.Helper()
	if benchTexts[known] == nil {
		benchTexts[known] = busyService(b, known, benchRequests[known])
	}
	return benchTexts[known]
}

// benchRequests take a million events.
var benchRequests = map[bool]int{true: 22_000, false: 30_000}

func read(b *testing.B, text []byte) *trace.Recording {
	b.Helper()
	rec, err := trace.Read(bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	return rec
}

// loop does f as often as b asks, and returns the processor time of that for each of the events of
// a trace: other processes take time on the wall.
func loop(b *testing.B, events int, f func()) (each time.Duration) {
	b.Helper()
	began := processorTime(b)
	for b.Loop() {
		f()
	}
	each = (processorTime(b) - began) / time.Duration(b.N)
	b.ReportMetric(float64(each.Nanoseconds())/float64(events), "cpu-ns/event")
	b.ReportMetric(float64(events), "events")
	b.ReportAllocs()
	return each
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	user, system, err := perf.ProcessCPU()
	if err != nil {
		b.Skip(err)
	}
	return user + system
}

func BenchmarkRead(b *testing.B) {
	benchTraces(b, func(b *testing.B, text []byte) {
		loop(b, read(b, text).Traced, func() { read(b, text) })
	})
}

func BenchmarkTranslate(b *testing.B) {
	benchTraces(b, func(b *testing.B, text []byte) {
		rec := read(b, text)
		loop(b, rec.Traced, func() { infer.NewProgram(rec, true) })
	})
}

// BenchmarkSimulate is one hypothesis.
func BenchmarkSimulate(b *testing.B) {
	benchTraces(b, func(b *testing.B, text []byte) {
		rec := read(b, text)
		p := infer.NewProgram(rec, true)
		c := sim.Change{}
		if busy := busiest(p, 1, nil); len(busy) > 0 {
			c.Factors = map[int32]float64{busy[0]: 0.5}
		}
		var o sim.Outcome
		each := loop(b, rec.Traced, func() { o = sim.Simulate(p, c, rec.End-rec.Start) })
		b.ReportMetric(float64(each.Nanoseconds())/float64(max(1, o.Work)), "cpu-ns/step")
		b.ReportMetric(float64(o.Work)/float64(rec.Traced), "steps/event")
	})
}

// BenchmarkAnalysis is all that is done with one trace, as in package causal: it is read, cut into
// three windows, and each is simulated with up to 64 changes. MiB is what the heap holds at most,
// less what it held before, while it is kept as small as can be.
func BenchmarkAnalysis(b *testing.B) {
	benchTraces(b, func(b *testing.B, text []byte) {
		events := read(b, text).Traced
		asked := 0
		each := loop(b, events, func() { asked = analysis(b, text) })
		b.ReportMetric(float64(asked), "hypotheses")
		b.ReportMetric(each.Seconds()/float64(events)*1e6, "cpu-s/Mevent")
		b.ReportMetric(float64(heapuse.Peak(20, func() { analysis(b, text) }))/(1<<20), "MiB")
	})
}

func analysis(b *testing.B, text []byte) (asked int) {
	b.Helper()
	rec := read(b, text)
	s, err := NewStudy(StudyConfig{Speedups: []float64{0.25, 0.5, 0.75, 0.95}, Steps: math.MaxInt})
	if err != nil {
		b.Fatal(err)
	}
	for w := range rec.Windows(3) {
		if err := s.Add(context.Background(), w); err != nil {
			b.Fatal(err)
		}
		asked = len(s.windows[len(s.windows)-1].asked)
	}
	s.Result()
	return asked
}
