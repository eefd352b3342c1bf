// Package exporter delivers spans, log records and metrics of any OpenTelemetry exporter without
// harm to the application, and writes them to files. It is for programs that set up providers of
// their own; [otelprof.Setup] uses the same.
//
//	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(exporter.NewSpanProcessor(otlp)))
//
// A processor queues what ends, 2048 items and 64 MiB at most, and exports in batches on a
// goroutine of its own: no span, and no log record, ever waits for an export. A full queue drops
// what comes. Everything is counted, see [Stats]: what has ended is what was exported, is queued,
// or was lost, by reason. An outage is logged once for each cause, and once more when it is over.
//
// The OTEL_BSP_* and OTEL_BLRP_* variables set queues, batches, delays and timeouts; a value out of
// range is logged, and the default is used. The package compiles no gRPC.
//
// [otelprof.Setup]: https://pkg.go.dev/github.com/otelprof/otelprof#Setup
package exporter
