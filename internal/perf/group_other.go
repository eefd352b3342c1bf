//go:build !linux

package perf

import "runtime"

// A Group cannot be opened on this system.
type Group struct{}

// Open returns [ErrNotSupported].
func Open([]Event) (*Group, error) {
	return nil, &Error{Kind: ErrNotSupported, Event: -1, Cause: "no counters on " + runtime.GOOS}
}

// Read returns [ErrNotSupported].
func (*Group) Read(*Values) error { return ErrNotSupported }

// ReadKernel returns [ErrNotSupported].
func (*Group) ReadKernel(*Values) error { return ErrNotSupported }

// ReadUser returns false.
func (*Group) ReadUser(*Values) bool { return false }

// UserSpace returns false.
func (*Group) UserSpace() bool { return false }

// Close does nothing.
func (*Group) Close() error { return nil }
