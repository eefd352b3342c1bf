package delivery

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
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

// A megabyte is a piece of its own, as is a span that would make one too large.
func TestSpansOfManyBytesInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &piecewiseSpans{}
		e := WrapSpans(p, NewMonitor(Config{Unit: "spans"}))
		var spans []sdktrace.ReadOnlySpan
		for _, bytes := range []int{1 << 20, 10, 10, 200 << 10, 100 << 10, 1 << 20, 1 << 20, 10} {
			spans = append(spans, tracetest.SpanStub{Name: strings.Repeat("x", bytes)}.Snapshot())
		}
		_ = e.ExportSpans(t.Context(), spans)
		if diff := cmp.Diff([]int{1, 3, 1, 1, 1, 1}, p.pieces); diff != "" {
			t.Errorf("pieces (-want +got):\n%s", diff)
		}
		if got := e.Stats().Exported; got != uint64(len(spans)) {
			t.Errorf("%d spans exported, want %d", got, len(spans))
		}
	})
}

// An exporter that panics does not end the program: what it had counts as failed.
func TestExporterThatPanics(t *testing.T) {
	logger, _ := newLogger()
	e := WrapSpans(&fake{export: func(context.Context, int) error { panic("broken") }}, NewMonitor(Config{Unit: "spans", Logger: logger}))
	err := e.ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{snapshot(true), snapshot(true)})
	if s := e.Stats(); s.Failed != 2 || s.Outage != "panic: broken" {
		t.Errorf("error %v, %+v, want 2 that failed by the panic", err, s)
	}
}

// Nor does one that panics when it is flushed or shut down, on the batcher's goroutine.
func TestExporterThatPanicsAtTheEnd(t *testing.T) {
	b := newBatcher(t, &fake{hurts: true})
	for _, call := range []func(context.Context) error{b.ForceFlush, b.Shutdown} {
		if err := call(t.Context()); err == nil || err.Error() != "panic: broken" {
			t.Errorf("error %v, want the panic", err)
		}
	}
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
