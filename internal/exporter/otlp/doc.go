// Package otlp makes OTLP exporters for traces, metrics and logs, over gRPC or HTTP, from the
// standard OTEL_* environment.
//
// The environment decides whether anything is exported at all, and where to, see [FromEnv]. All
// else, from TLS to compression, timeouts and the temporality of metrics, is read by the SDK's own
// exporters, which these wrap; headers of logs are read here, as the SDK takes all or none.
//
// An endpoint that cannot be reached is logged once, and so is its return; the application
// runs on, and what is lost is counted, see [delivery.Stats].
//
// This is the only package of the module's exporters that compiles gRPC.
package otlp
