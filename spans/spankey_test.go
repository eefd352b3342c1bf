package spans

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestSpanKeyIsLearned(t *testing.T) {
	if spanKey == nil {
		t.Error("the key of spans in contexts is not known any more: each span costs an allocation more")
	}
}

func TestContextsWithoutTheSpanKey(t *testing.T) {
	defer func(k any) { spanKey = k }(spanKey)
	spanKey = nil
	tp := WrapTracerProvider(nil)
	ctx, s := tp.Tracer("").Start(context.Background(), "a")
	inner, child := tp.Tracer("").Start(ctx, "b")
	if trace.SpanFromContext(ctx) != s || trace.SpanFromContext(inner) != child || SpanFromContext(inner).Parent() != SpanFromContext(ctx) {
		t.Error("the spans are not in their contexts")
	}
	child.End()
	s.End()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
