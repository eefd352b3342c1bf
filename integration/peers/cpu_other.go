//go:build !unix

package main

import (
	"errors"
	"time"
)

// cpuTime is not written for this system.
func cpuTime() (time.Duration, error) { return 0, errors.ErrUnsupported }
