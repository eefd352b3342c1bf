//go:build !linux

package perf

import (
	"runtime"
	"time"
)

// A Sampler cannot be opened on this system.
type Sampler struct{}

// OpenSampler returns [ErrNotSupported].
func OpenSampler(time.Duration) (*Sampler, error) {
	return nil, &Error{Kind: ErrNotSupported, Event: -1, Cause: "no samples on " + runtime.GOOS}
}

// Kernel returns false.
func (*Sampler) Kernel() bool { return false }

// Unfollowed returns 0.
func (*Sampler) Unfollowed() int { return 0 }

// Counts returns none.
func (*Sampler) Counts() SampleCounts { return SampleCounts{} }

// Read does nothing.
func (*Sampler) Read(func(*Sample)) {}

// Close does nothing.
func (*Sampler) Close() error { return nil }
