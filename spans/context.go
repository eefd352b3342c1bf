package spans

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
)

// A wrapped span must stand in the context, and trace.ContextWithSpan allocates a context for
// that. The two types here save it: they are the wrapper itself, seen as a context. That
// needs the key under which package trace looks its span up, which it keeps to itself, so
// spanKey asks for it once. If what it learns does not hold, contexts are made as usual.

type (
	recordingContext recordingSpan
	plainContext     plainSpan
)

// spanKey is the key of the current span in a context, nil if it could not be learned.
var spanKey = learnSpanKey()

// isSpanKey reports whether key is the context key of the current span. Package trace asks for it
// several times a span, always with the same two words, which are quicker to compare than what they
// stand for.
func isSpanKey(key any) bool {
	return *(*[2]uintptr)(unsafe.Pointer(&key)) == *(*[2]uintptr)(unsafe.Pointer(&spanKey)) || key == spanKey
}

// context returns next with the span in it.
func (s *recordingSpan) context(next context.Context) context.Context {
	s.live.ctx = next
	if spanKey == nil {
		return trace.ContextWithSpan(next, s)
	}
	return (*recordingContext)(s)
}

func (s *plainSpan) context(next context.Context) context.Context {
	s.live.ctx = next
	if spanKey == nil {
		return trace.ContextWithSpan(next, s)
	}
	return (*plainContext)(s)
}

// spanIn is trace.SpanFromContext, but quicker for what context returned, as nearly all children
// are started with.
func spanIn(ctx context.Context) trace.Span {
	switch c := ctx.(type) {
	case *recordingContext:
		return (*recordingSpan)(c)
	case *plainContext:
		return (*plainSpan)(c)
	}
	return trace.SpanFromContext(ctx)
}

// Value implements context.Context.
func (c *recordingContext) Value(key any) any {
	if isSpanKey(key) {
		return (*recordingSpan)(c)
	}
	return c.live.ctx.Value(key)
}

// Value implements context.Context.
func (c *plainContext) Value(key any) any {
	if isSpanKey(key) {
		return (*plainSpan)(c)
	}
	return c.live.ctx.Value(key)
}

// Deadline implements context.Context.
func (c *recordingContext) Deadline() (time.Time, bool) { return c.live.ctx.Deadline() }

// Deadline implements context.Context.
func (c *plainContext) Deadline() (time.Time, bool) { return c.live.ctx.Deadline() }

// Done implements context.Context.
func (c *recordingContext) Done() <-chan struct{} { return c.live.ctx.Done() }

// Done implements context.Context.
func (c *plainContext) Done() <-chan struct{} { return c.live.ctx.Done() }

// Err implements context.Context.
func (c *recordingContext) Err() error { return c.live.ctx.Err() }

// Err implements context.Context.
func (c *plainContext) Err() error { return c.live.ctx.Err() }

// String keeps fmt from walking through a span that others write to.
func (c *recordingContext) String() string { return c.live.contextString() }

// String keeps fmt from walking through a span that others write to.
func (c *plainContext) String() string { return c.live.contextString() }

func (r *Span) contextString() string { return fmt.Sprintf("%v.WithSpan(%q)", r.ctx, r.name) }

// learnSpanKey looks up a span in a context that remembers what it is asked for, and
// believes the answer if a span can be found under it.
func learnSpanKey() any {
	asked := &askedContext{Context: context.Background()}
	trace.SpanFromContext(asked)
	if asked.times != 1 || asked.key == nil {
		return nil
	}
	probe := &plainSpan{Span: trace.SpanFromContext(context.Background())}
	if trace.ContextWithSpan(context.Background(), probe).Value(asked.key) != any(probe) {
		return nil
	}
	return asked.key
}

type askedContext struct {
	context.Context
	key   any
	times int
}

func (c *askedContext) Value(key any) any {
	c.key = key
	c.times++
	return nil
}
