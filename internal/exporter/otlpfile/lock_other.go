//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package otlpfile

// lock does nothing: this system has no flock.
func lock(string) (unlock func(), err error) { return func() {}, nil }

// syncDir does nothing: this system cannot sync a folder.
func syncDir(string) error { return nil }
