// Package thorough has the flag -long of tests. Tests that import it take the flag, so that it can
// be given to several packages at once.
package thorough

import "flag"

// Rounds has tests take the time, and as many rounds, as they should in the night. Without it those
// of a package take 20 s at most.
var Rounds = flag.Bool("long", false, "take the time, and the rounds, that are thorough")

// Of is much with -long, else little.
func Of(much, little int) int {
	if *Rounds {
		return much
	}
	return little
}
