// Package known has work of which it is known what a CPU counts in it, to test whether counters can
// be trusted.
package known

import "math/rand/v2"

// What each round of [Adds] and [Branches] takes on every CPU of this architecture; 0 where there
// is none of them.
const (
	AddsInstructions     = addsInstructions     // of a round of Adds
	AddsChain            = addsChain            // additions of them that each wait for the one before
	BranchesInstructions = branchesInstructions // of a round of Branches, on average
	Branched             = branched             // branch instructions of a round of Branches
	BranchesRandom       = 1                    // branch instructions that go either way at random
)

// Adds goes n times through a loop of additions that each need the sum of the one before; n must
// not be 0. A CPU that makes an addition in a cycle takes AddsChain cycles a round, even if it can
// do more at the same time.
func Adds(n uint64) { adds(n) }

// Branches goes n times through a loop with a branch on a pseudo-random bit, of which no predictor
// foretells more than half. Neither n nor seed may be 0; another seed gives other bits. It returns
// how often the bit was set.
func Branches(n, seed uint64) uint64 { return branches(n, seed) }

// lineWords is a line of a cache, 64 bytes, in numbers of a Walk.
const lineWords = 16

// A Walk is a random cycle through memory: each step loads from another cache line, whose address
// stands in the line before. No prefetcher foretells it.
type Walk struct {
	next []uint32
	at   uint32
}

// NewWalk returns a walk through size bytes, in [128, 2^34]. It takes some 10 ns for each 64 bytes.
func NewWalk(size int) *Walk {
	lines := size / 4 / lineWords
	w := &Walk{next: make([]uint32, lines*lineWords)}
	order := make([]uint32, lines)
	for i := range order {
		order[i] = uint32(i)
	}
	// Sattolo's algorithm: one cycle through all lines.
	for i := lines - 1; i > 0; i-- {
		j := rand.IntN(i)
		order[i], order[j] = order[j], order[i]
	}
	for i, to := range order {
		w.next[i*lineWords] = to * lineWords
	}
	return w
}

// Go takes n steps.
func (w *Walk) Go(n int) {
	at, next := w.at, w.next
	for range n {
		at = next[at]
	}
	w.at = at
}
