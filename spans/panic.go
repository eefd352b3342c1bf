package spans

import (
	"fmt"
	"reflect"
	"runtime"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// recordPanic adds the exception event that the SDK adds when its own End is deferred. It
// runs below the deferred End, so a stack trace still shows where the panic began.
func recordPanic(span trace.Span, value any, opts []trace.SpanEndOption) {
	attrs := []attribute.KeyValue{
		attribute.String("exception.type", typeName(value)),
		attribute.String("exception.message", fmt.Sprint(value)),
	}
	if cfg := trace.NewSpanEndConfig(opts...); cfg.StackTrace() {
		stack := make([]byte, 2048)
		stack = stack[:runtime.Stack(stack, false)]
		attrs = append(attrs, attribute.String("exception.stacktrace", string(stack)))
	}
	span.AddEvent("exception", trace.WithAttributes(attrs...))
}

// typeName is the full name of the value's type: "errors.errorString" for *errors.errorString.
func typeName(value any) string {
	t := reflect.TypeOf(value)
	if t.PkgPath() == "" && t.Name() == "" {
		return t.String()
	}
	return fmt.Sprintf("%s.%s", t.PkgPath(), t.Name())
}
