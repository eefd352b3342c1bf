//go:build !unix

package main

import "os"

// notifyResize has nothing to tell on this system: the next poll finds the new size.
func notifyResize(chan<- os.Signal) {}
