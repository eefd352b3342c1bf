//go:build otelprof_runtime

package main

import "sync"

// A lock is a plain one: "otelprof run" has built the program, so Go's scheduler sees which
// goroutine waits for which.
type lock = sync.Mutex
