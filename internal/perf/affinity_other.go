//go:build !linux

package perf

import "errors"

// Processors returns those that the calling thread may run on: this system does not say.
func Processors() ([]int, error) { return nil, errors.ErrUnsupported }

// Pin is there on Linux alone.
func Pin([]int) (unpin func(), err error) { return nil, errors.ErrUnsupported }
