//go:build !linux

package perf

import "time"

// Thread returns 0.
func Thread() int { return 0 }

// Alive returns false.
func Alive(int) bool { return false }

// ThreadUsage returns [ErrNotSupported].
func ThreadUsage(*Usage) error { return ErrNotSupported }

// FileLimit returns 0.
func FileLimit() int { return 0 }

// ProcessCPU returns [ErrNotSupported].
func ProcessCPU() (user, system time.Duration, err error) { return 0, 0, ErrNotSupported }
