//go:build !race

package simulator

// scale divides the length of all runs, and multiplies how far a random one may be off.
const scale = 1

// perKind is how many random programs of each kind are replayed, unless -random says so.
const perKind = 3

// speedups are those that predictions are held against the truth with.
var speedups = []float64{.1, .25, .5, .75, 1}
