//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize tells of terminals that get another size.
func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
