//go:build !otelprof_runtime

package main

import "github.com/otelprof/otelprof/causal"

// A lock is a sync.Mutex that tells the causal profile who waits for whom.
type lock = causal.Mutex
