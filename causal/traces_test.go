package causal

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/spans"
)

// Ten goroutines of one trace end their spans at the same moment: what is only being inserted
// counts, too.
func TestDelayPerTraceSideBySide(t *testing.T) {
	for name, recorded := range map[string]bool{"recorded": true, "session filtered out": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				caps := wide
				caps.PerTrace = plan.Duration(10 * time.Millisecond)
				c := newController(t, WithExperiments(caps))
				tp := newProvider(t, c, spans.WithSessionFilter(func(context.Context, string) bool { return recorded }))
				b := &bench{t, c, tp.Tracer("bench"), nil}
				b.run = force(t, c, mustParse(t, idle, wideLimits))
				dilate(b.run, 1, experiment.SparesNone)
				for range 3 { // each trace has its own
					ctx, root := b.tr.Start(context.Background(), "root")
					var mu sync.Mutex
					total := time.Duration(0)
					var children sync.WaitGroup
					for range 10 {
						children.Go(func() {
							d := b.span(ctx, "child", 4*time.Millisecond)
							mu.Lock()
							total += d
							mu.Unlock()
						})
					}
					children.Wait()
					b.want("two of ten", total, 8*time.Millisecond)
					root.End()
				}
				if n := b.run.Guard.Traces.Count(); n != 0 {
					t.Errorf("%d traces are known when all have ended, want 0", n)
				}
			})
		})
	}
}

// Children that end behind their root leave nothing.
func TestTracesOfLateChildren(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		ctx, root := b.tr.Start(context.Background(), "root")
		time.Sleep(time.Millisecond)
		root.End()
		b.want("a late child", b.span(ctx, "child", time.Millisecond), time.Millisecond)
		if n := b.run.Guard.Traces.Count(); n != 0 {
			t.Errorf("%d traces are known when all have ended, want 0", n)
		}
	})
}

// Traces that do not end take bounded room, and keep their limits as far as spans add up.
func TestTracesAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := newBench(t, wide, nil)
		dilate(b.run, 1, experiment.SparesNone)
		for i := range admission.MaxTraces + 10 {
			ctx, _ := b.tr.Start(context.Background(), fmt.Sprint("root", i%8))
			b.span(ctx, "child", time.Microsecond)
		}
		if n := b.run.Guard.Traces.Count(); n != admission.MaxTraces {
			t.Errorf("%d traces are known, want %d", n, admission.MaxTraces)
		}
	})
}
