package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// requests records a server with one connection, whose requests take 2 to 6 ms and then, in an open
// loop, come each 10 ms, or, in a closed one, 4 ms after the answer.
func requests(t *testing.T, seed uint64, open bool) *trace.Recording {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	b := trace.NewRecorder(0, 2)
	b.Waiting(0, 1)
	at, due := int64(0), int64(0)
	for i := range uint64(150) {
		switch {
		case open:
			due += 10 * ms
			at = max(at, due)
		default:
			at += 4 * ms
		}
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
		b.Open(at, 1, i+1, 0, trace.Region{Scope: "server", Name: "request"})
		b.Open(at, 1, 1000+i, i+1, trace.Region{Scope: "server", Name: "query"})
		b.Wait(at, 1, 2)
		at += 2*ms + random.Int64N(4*ms)
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
		b.Close(at, 1, 1000+i)
		b.Close(at, 1, i+1)
		b.Wait(at, 1, 1)
		b.R.Events[len(b.R.Events)-1].Arg = trace.WaitNetwork
	}
	rec := recorded(t, b, at)
	return rec
}

// TestLoop distinguishes open loops from closed ones: in an open one a faster region changes the
// latency, and not the throughput.
func TestLoop(t *testing.T) {
	for _, open := range []bool{true, false} {
		s, err := NewStudy(StudyConfig{Speedups: []float64{0.5}})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(doubt.LeastWindows) {
			if err := s.Add(t.Context(), requests(t, seed, open)); err != nil {
				t.Fatal(err)
			}
		}
		want, throughput := LoopClosed, 0.25
		if open {
			want, throughput = LoopOpen, 0
		}
		result := s.Result()
		if got := result.Rests[0].Loop; got != want {
			t.Errorf("open %v: loop %q, want %q", open, got, want)
		}
		for _, m := range []struct {
			metric Metric
			want   float64
		}{{Throughput, throughput}, {LatencyP50, 0.5}, {LatencyP90, 0.5}} {
			i := slices.IndexFunc(result.Answers, func(a Answer) bool { return a.Region.Name == "query" && a.Metric == m.metric })
			if i < 0 {
				t.Fatalf("open %v: no answer of %s", open, m.metric)
			}
			if a := result.Answers[i]; a.Withheld != WithheldNone || a.Lo > m.want || a.Hi < m.want || a.Hi-a.Lo > 0.05 {
				t.Errorf("open %v, %s: %.3f (%.3f to %.3f), withheld %d, want %.2f within", open, m.metric, a.Reduction, a.Lo, a.Hi, a.Withheld, m.want)
			}
		}
	}
}

// TestSlope withholds a verdict where all work is alike.
func TestSlope(t *testing.T) {
	alike := make([]infer.Turn, 100)
	for i := range alike {
		alike[i] = infer.Turn{Work: 1e6, Wait: float64(i)}
	}
	if got, _ := infer.Slope(alike); got != 0 {
		t.Errorf("slope %v, want 0: all work is alike", got)
	}
}
