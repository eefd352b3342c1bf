//go:build otelprof_runtime

// An assembly file lets the compiler accept functions without a body.
