package causal

import (
	"context"
	"fmt"
	"testing"

	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/spans"
)

// Names that package spans does not tell apart are no region of an experiment: not that of the name
// which came first.
func TestClassOfNamesBeyondTheLimit(t *testing.T) {
	const limit = 3
	tr := newProvider(t, newController(t), spans.WithMaxRegions(limit)).Tracer(t.Name())
	for i := range limit + 3 {
		ctx, s := tr.Start(context.Background(), fmt.Sprint("name ", i))
		c := classes.Of(spans.SpanFromContext(ctx))
		s.End()
		if i < limit && (c.ID == ledger.NoRegion || c.Key.Name != fmt.Sprint("name ", i)) {
			t.Errorf("name %d is of class %d, %v: want one of its own", i, c.ID, c.Key)
		}
		if i >= limit && c.ID != ledger.NoRegion {
			t.Errorf("name %d is of class %d, %v: want none", i, c.ID, c.Key)
		}
	}
}
