// Package goroutine tells goroutines apart.
package goroutine

// An ID names the goroutine that runs. Two live goroutines never have the same one; the
// runtime gives that of a goroutine that has ended to a later one. Zero is nobody's.
type ID uintptr

// Current returns the ID of the calling goroutine, in about a nanosecond. It is the address of
// the runtime's own record, which is in a register or in thread-local storage; it is
// compared and never followed. Known is false on architectures without the few lines of
// assembly that read it; Current returns zero there.
func Current() ID { return ID(current()) }
