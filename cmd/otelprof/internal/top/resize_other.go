//go:build !unix

package top

import "os"

// notifyResize does nothing on this system: the next poll finds the new size.
func notifyResize(chan<- os.Signal) {}
