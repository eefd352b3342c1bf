//go:build amd64 || arm64

package perftest

// SpinInstructions is how many instructions each round of [Spin] takes.
const SpinInstructions = 2

// Spin goes n times through a loop of two instructions, a decrement and a branch; n must
// not be 0.
//
//go:noescape
func Spin(n uint64)
