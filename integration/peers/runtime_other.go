//go:build !unix

package main

import (
	"io"
	"regexp"
	"time"
)

// runtimeFigures are none here.
var runtimeFigures []struct{}

// runBackground has no clock of processor time here.
func runBackground(io.Writer, *regexp.Regexp, string, int, time.Duration) error { return nil }

// runRuntime has no clock of processor time here.
func runRuntime(io.Writer, *regexp.Regexp, string, int, time.Duration) error { return nil }
