//go:build unix

package stacks

import (
	"syscall"
	"time"
)

// processTime returns the processor time that the process has taken, with that of the kernel for
// it. The kernel's clock for it is exact to a microsecond.
func processTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
