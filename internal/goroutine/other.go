//go:build !amd64 && !arm64

package goroutine

const hasRecord = false

func word(uintptr) uint64 { return 0 }
