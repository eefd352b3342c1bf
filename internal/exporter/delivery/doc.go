// Package delivery is what the OTLP and the file exporters have in common: it counts what
// becomes of every span and data point, logs a failure once and not at every export, and
// batches spans so that nothing is lost without being counted:
//
//	ended = exported + queued + failed + rejected + queue full + unfinished
//
// The exporters it wraps are the application's only as far as time is concerned: no method of a
// [Batcher] or a [LogBatcher] that runs on an application's goroutine waits for an export, except
// ForceFlush and Shutdown, and those no longer than their context. Failures are logged on a
// goroutine of their own.
package delivery
