//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package otlpfile

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file of that name for this process; the kernel gives it back when the
// process ends, however that comes about. Two processes that cut and rotate the same file
// would lose each other's lines.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errInUse
		}
		// Some network file systems have no locks; one process can still write there.
		if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOLCK) {
			return func() {}, nil
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// syncDir makes a rename last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
