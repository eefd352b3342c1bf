//go:build !linux

package main

import (
	"errors"
	"time"
)

func machineTime() (time.Duration, error)    { return 0, errors.ErrUnsupported }
func processTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
