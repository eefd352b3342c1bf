//go:build unix

package top

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize signals when the terminal gets another size.
func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
