//go:build otelprof_procpin

// The compiler accepts functions without a body only in a package with assembly.
