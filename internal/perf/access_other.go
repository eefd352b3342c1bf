//go:build !arm64

package perf

// userAccess is empty: all counters can be read in user space, or none.
var userAccess []uint64
