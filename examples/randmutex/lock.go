//go:build !otelprof_runtime

package main

import "github.com/otelprof/otelprof/causal"

// A lock is a sync.Mutex that shows the causal profile which goroutine waits for which.
type lock = causal.Mutex
