// Package otlp makes OTLP exporters for traces, metrics and logs, over gRPC or HTTP, from the
// standard OTEL_* environment.
//
// The environment decides whether anything is exported at all, and where to, see [FromEnv]. For
// HTTP headers, times, compression and certificates are read here too, as FromEnv reports them: the
// SDK's exporters, which these wrap, read some by other rules. The rest is left to them: the way
// over gRPC but for the headers of logs, of which the SDK takes all or none, and the temporality of
// metrics.
//
// An endpoint that cannot be reached is logged once, and so is its return; the application
// runs on, and what is lost is counted, see [delivery.Stats].
//
// This is the only package of the module's exporters that compiles gRPC.
package otlp
