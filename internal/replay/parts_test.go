package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A recording of few events is cut into three windows, a large one into some of 100,000 each, and
// one of few visits into fewer.
func TestPartsOfRecordings(t *testing.T) {
	for _, tt := range []struct{ visits, events, want int }{
		{1000, 1000, 3}, {1000, 300_000, 3}, {1000, 790_000, 7}, {1000, 4_000_000, 8}, {450, 790_000, 4}, {10, 1000, 1}, {0, 0, 1},
	} {
		b := trace.NewRecorder(0, 1)
		b.Running(0, 1)
		for i := range tt.visits {
			b.Visit(int64(i)+1, 1, "done")
		}
		r := recorded(t, b, 10_000)
		r.Traced = tt.events
		if got := Parts(r); got != tt.want {
			t.Errorf("%d visits, %d events: %d windows, want %d", tt.visits, tt.events, got, tt.want)
		}
	}
}
