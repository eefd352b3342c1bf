package main

import (
	"math/rand/v2"
	"time"
)

// lengths are how long the pieces of work of one goroutine take: about as long as asked, in an order that is
// the same each time.
type lengths struct {
	*rand.Rand
	vary float64 // of a duration, up or down at most, in [0, 1]
}

func newLengths(goroutine int, vary float64) lengths {
	return lengths{rand.New(rand.NewPCG(uint64(goroutine), 7)), vary}
}

func (l lengths) of(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + l.vary*(2*l.Float64()-1)))
}
