//go:build !unix

package stacks

import "time"

// processTime is not known here: samples stand for their period.
func processTime() (time.Duration, bool) { return 0, false }
