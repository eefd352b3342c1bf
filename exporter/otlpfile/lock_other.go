//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package otlpfile

// lock does nothing: this system has no flock.
func lock(string) (unlock func(), err error) { return func() {}, nil }

// syncDir does nothing: this system can not sync a folder.
func syncDir(string) error { return nil }
