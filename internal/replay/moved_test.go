package replay

import (
	"math"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Spans that a client begins and a reader ends, 6 of each 10 ms, may have waited for anything; what
// was computed in one of them is known, and so are spans that end where they began.
func TestMovedSpans(t *testing.T) {
	query, own := trace.Region{Scope: "test", Name: "query"}, trace.Region{Scope: "test", Name: "own"}
	b := trace.NewRecorder(0, 2)
	b.Running(0, 1)
	b.Start(0, 1, 0)
	b.Waiting(0, 2)
	for i := range uint64(10) {
		at := int64(i) * 10 * ms
		b.Open(at, 1, 2*i+1, 0, own)
		b.Close(at+2*ms, 1, 2*i+1)
		b.Open(at+2*ms, 1, 2*i+2, 0, query)
		b.Wait(at+3*ms, 1, 1)
		b.Ready(at+8*ms, 2, trace.NoWaker)
		b.Start(at+8*ms, 2, 1)
		b.Close(at+8*ms, 2, 2*i+2)
		b.Ready(at+8*ms, 1, 2)
		b.Wait(at+8*ms, 2, 2)
		b.Start(at+8*ms, 1, 0)
		b.Visit(at+9*ms, 1, "done")
	}
	unseen := unseenIn(infer.NewProgram(recorded(t, b, 100*ms), false))
	if got := unseen[query]; len(unseen) != 1 || got < 0.45 || got > 0.6 {
		t.Errorf("%v, want .5 of the time in queries alone", unseen)
	}
	faster, slower := Answer{Metric: Throughput}, Answer{Metric: LatencyP99}
	faster.mayHave(0.5, 0.25)
	slower.mayHave(-0.5, 0.25)
	if math.Abs(faster.Hi-0.25) > 1e-9 || faster.Lo != 0 || !faster.Bounded || slower.Lo != -1 || slower.Hi != 0 {
		t.Errorf("%+v and %+v, want bounds of .25 above and 1 below", faster, slower)
	}
}
