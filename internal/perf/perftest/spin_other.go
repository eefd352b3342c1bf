//go:build !amd64 && !arm64

package perftest

// SpinInstructions is 0: unknown.
const SpinInstructions = 0

// Spin goes n times through a loop.
func Spin(n uint64) {
	for range n {
	}
}
