package causal

import (
	"context"

	"github.com/otelprof/otelprof/causal/internal/engine"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/internal/mark"
)

// Progress counts one visit of the progress point name: a unit of work is done. Plans refer
// to it by a progress entry whose span is that name. Where delays are paid, the calling goroutine
// may be delayed. While no experiment runs it costs two atomic loads. Allocates nothing.
func Progress(_ context.Context, name string) {
	if mark.Enabled() {
		mark.LogProgress(name)
	}
	if o, l := virtualtime.Here(); l != nil {
		o.PayNow(l)
	}
	engine.Point()
	engine.Visited(name)
}
