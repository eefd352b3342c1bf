//go:build !unix

package stacks

// Turns is not known here.
func Turns() (n int64, known bool) { return 0, false }
