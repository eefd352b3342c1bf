// Package engine carries out plans: a [Run] measures one arm after the other (run.go, counters.go),
// an influence is what an arm does to the program (slowdown.go, dilation.go, overlap.go, and
// runtime.go where the scheduler does it), insert.go is where a delay is asked for and taken, and
// profile.go makes a profile of what was measured.
package engine
