//go:build amd64 || arm64

package goroutine

// hasRecord reports whether word works here.
const hasRecord = true

// word returns the word at offset in the runtime's record of the calling goroutine.
//
//go:noescape
func word(offset uintptr) uint64
