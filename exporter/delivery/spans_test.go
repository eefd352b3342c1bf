package delivery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// piecewiseSpans is an exporter that wants three spans at once, and takes a millisecond for them.
type piecewiseSpans struct {
	fake
	pieces []int
	fails  int // which piece, 0 for none
}

func (*piecewiseSpans) AtOnce() int { return 3 }

func (p *piecewiseSpans) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	time.Sleep(time.Millisecond)
	if p.pieces = append(p.pieces, len(spans)); len(p.pieces) == p.fails {
		return errors.New("full")
	}
	return nil
}

func TestSpansInPieces(t *testing.T) {
	for _, one := range []struct {
		spans, fails int
		want         []int
		took         time.Duration
		stats        Stats
	}{
		{spans: 0},
		{spans: 3, want: []int{3}, took: time.Millisecond, stats: Stats{Exported: 3}},
		{spans: 7, want: []int{3, 3, 1}, took: 5 * time.Millisecond, stats: Stats{Exported: 7}},
		{spans: 8, fails: 2, want: []int{3, 3}, took: 3 * time.Millisecond, stats: Stats{Exported: 3, Failed: 5, FailedExports: 1, Outage: "full"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &piecewiseSpans{fails: one.fails}
			logger, _ := newLogger()
			e := WrapSpans(p, NewMonitor(Config{Unit: "spans", Logger: logger}))
			spans := make([]sdktrace.ReadOnlySpan, one.spans)
			for i := range spans {
				spans[i] = snapshot(true)
			}
			begun := time.Now()
			_ = e.ExportSpans(t.Context(), spans)
			if took := time.Since(begun); took != one.took {
				t.Errorf("%d spans: took %v, want %v", one.spans, took, one.took)
			}
			if diff := cmp.Diff(one.want, p.pieces); diff != "" {
				t.Errorf("%d spans: pieces (-want +got):\n%s", one.spans, diff)
			}
			if diff := cmp.Diff(one.stats, e.Stats()); diff != "" {
				t.Errorf("%d spans: Stats (-want +got):\n%s", one.spans, diff)
			}
		})
	}
}
