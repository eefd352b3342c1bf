// Package spans turns the spans that a program already starts into profiling regions.
//
// [WrapTracerProvider] puts a [TracerProvider] around any other. From then on each span has a
// [Span], its live record: its duration goes into an HDR histogram of its [Region], hooks see it
// start and end, and it is appended to the record of its [Session], which is what one local root
// span did in this process.
//
// Unsampled spans belong to regions too: they are measured and recorded, only their attributes
// and events are unknown, since the SDK keeps none.
//
// # The wrapped span
//
// A wrapped span behaves as the SDK's own: it stands in the context, so that
// trace.SpanFromContext(ctx).End() is seen; its TracerProvider is the wrapper; a recording
// span of the SDK can still be asserted to sdktrace.ReadOnlySpan and ReadWriteSpan; a panic
// that unwinds through a deferred End is recorded as an exception event and goes on; a
// second End does nothing; timestamps given by the caller are kept.
//
// One thing differs: the SDK counts a child only if it finds its own span in the context, so
// the spans that a span processor sees have a ChildSpanCount of zero. ChildSpanCount of
// the wrapped span itself is right.
//
// # Cost
//
// One allocation for each span, which is its own context: 192 bytes, 224 for one that the SDK is
// not asked for, 320 for a local root with its session; without recording 48. The command
// "make ratios" prints the time beside that of the bare SDK.
package spans
