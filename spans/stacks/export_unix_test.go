//go:build unix

package stacks

import "syscall"

// Turns returns how many turns of the process's threads on a processor others have ended.
func Turns() (n int64, known bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return int64(u.Nivcsw), true //nolint:unconvert // it is an int32 elsewhere
}
