package spans

import (
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Most spans of a service are not sampled, and of those most have a parent in this process that was
// not sampled either. What the SDK makes of such a span is known before it is asked, if its sampler
// follows the parent: a context with the parent's trace and an ID of its own, and nothing that
// could be set. Then the SDK is not asked, which saves more than a span costs.
//
// That is so for the SDK's own samplers NeverSample, and ParentBased unless it was given another
// sampler for parents of this process that are not sampled; with the SDK's own generator of IDs;
// and where the SDK does not count its own spans ([sdkspan.FollowsUnsampled]). Otherwise the SDK is
// asked every time.

// unsampledSpan is the wrapper, the record and the SDK's span, in one allocation.
type unsampledSpan struct {
	plainSpan
	unsampled
}

// unsampled is a span as the SDK makes it of a parent that is not sampled.
type unsampled struct {
	*noop.Span            // &noSpan: all methods but those below
	trace      trace.Span // the nearest span above that the SDK has made
	id         trace.SpanID
}

var noSpan noop.Span

// SpanContext returns the context of the span above with an ID of its own.
func (s *unsampled) SpanContext() trace.SpanContext { return s.trace.SpanContext().WithSpanID(s.id) }

// newUnsampled returns the span below a parent that was not sampled.
func newUnsampled(parent *Span) *unsampledSpan {
	s := &unsampledSpan{unsampled: unsampled{Span: &noSpan, trace: parent.inner()}}
	if above, ok := parent.inner().(*unsampled); ok {
		s.trace = above.trace
	}
	for !s.id.IsValid() {
		binary.NativeEndian.PutUint64(s.id[:], rand.Uint64())
	}
	s.plainSpan.Span = &s.unsampled
	s.live.parent, s.live.unsampled = parent, true
	return s
}

// foretells reports whether a span of this tracer below parent is not sampled for sure.
func (t *tracer) foretells(parent *Span, opts []trace.SpanStartOption) bool {
	return parent.unsampled && t.followsUnsampled && (len(opts) == 0 || !newRoot(opts))
}

func newRoot(opts []trace.SpanStartOption) bool {
	cfg := trace.NewSpanStartConfig(opts...)
	return cfg.NewRoot()
}
