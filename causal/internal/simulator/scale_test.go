//go:build !race

package simulator

// scale divides the length of all runs, and multiplies how far a random one may be off.
const scale = 1

var few = map[float64]bool{.1: true, .25: true, .5: true, .75: true, 1: true}
