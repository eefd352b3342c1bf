//go:build race

package simulator

// The race detector makes a run ten times as long. There is nothing for it to find where all
// goroutines take turns, so a few short ones will do.
const scale = 3

// perKind is how many random programs of each kind are replayed, unless -random says so.
const perKind = 2

var speedups = []float64{.25, 1}
