package hidden

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestSpanWithoutBeginning has spans of two goroutines be open at the same time once, while a span
// ends on the first one that began before the recording.
func TestSpanWithoutBeginning(t *testing.T) {
	const rounds, period, meet = 100, 600, 50
	write := trace.Region{Name: "write"}
	b := trace.NewRecorder(0, 2)
	b.Running(0, 0)
	b.Running(0, 1)
	before := int32(len(b.R.Spans))
	b.R.Spans = append(b.R.Spans, trace.Span{Region: b.RegionOf(write), Parent: trace.None})
	for round := range int64(rounds) {
		at, first, second := round*period, uint64(2*round+1), uint64(2*round+2)
		b.Open(at+1, 0, first, 0, write)
		if round == meet {
			b.Add(trace.Event{Kind: trace.EvClose, At: at + 50, G: b.Goroutine(0), By: trace.NoWaker, Ref: before})
			b.Open(at+60, 1, second, 0, write)
		}
		b.Close(at+100, 0, first)
		if round != meet {
			b.Open(at+300, 1, second, 0, write)
		}
		b.Close(at+400, 1, second)
	}
	if got := Excluding(b.Recording(rounds * period)); got != nil {
		t.Errorf("spans that were open at the same time have a lock: %v", got)
	}
}
