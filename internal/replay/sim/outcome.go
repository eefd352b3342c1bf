package sim

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// MostStrayed is which part of the select statements may end in ways of which the recording has no
// example, as a share of 1. As much is added to both sides of the interval, and above it the answer
// is bounds alone: with more, the replay is of branches that the program would not take.
const MostStrayed = 0.05

// Later returns by how much the part of the select statements is larger that timers ended than with
// nothing changed, as a share of 1, 0 where it is not. A timer that ends a wait in the replay alone
// is a timeout that the program might not have.
func (o *Outcome) Later(base *Outcome) float64 {
	return max(0, float64(o.late)/float64(max(1, o.choices))-float64(base.late)/float64(max(1, base.choices)))
}

// CrowdsOut reports whether it is known why a faster region makes the program slower: what comes
// too late is done again (retries), or elements have to wait since others are taken first (priority
// inversion of a kind: more of the urgent leaves less time for the rest). Then the slower program
// is an answer, and else a sign that the model is wrong. Rates are in elements for each ns.
func (o *Outcome) CrowdsOut(base *Outcome) bool {
	rate := func(o *Outcome) float64 { return float64(o.second) / float64(max(1, o.ended)) }
	return o.Later(base) > MostStrayed || rate(o) > 1.1*rate(base)
}

// Straying returns which part of the select statements ended in ways of which the recording has no
// example, more or less than with nothing changed, and of which it is not known whether they would.
// What strays in the replay of nothing changed strays in both, and the self-check has held that.
func (o *Outcome) Straying(base *Outcome) float64 {
	n, m := float64(max(1, o.choices)), float64(max(1, base.choices))
	return math.Abs(float64(o.strayed)/n-float64(base.strayed)/m) + float64(o.untold)/n
}

// A recording of a program that keeps all its processors busy shows what other programs take of
// them then, and not what they do once a region is faster and processors sleep. Others may then run
// at times at which the program needs none, so that it is left alone. And a processor that sleeps
// takes some time to come back; if others wait for one they get it, and when a goroutine has
// something to do there again its thread waits until the kernel looks, or shares the processor of
// another one. In the recording of a program whose processors sleep each wait is longer by that, as
// all waits are as long as they were; so it is about processors that did not sleep.

const (
	// KernelTick is how often the kernel looks whether another thread should run, ns: 250 times in
	// a second on most systems. A thread waits for half of that, on average.
	KernelTick = 4_000_000
	// LeastPressed is for which part of the time others must wait for a processor, or have one, to
	// be there: what a program needs that keeps all its processors busy, and what the system does,
	// is less. Processors that sleep they may use from not at all to always.
	LeastPressed = 0.1
	// leastAwakened is how many times as often as in the recording processors must sleep, for it to
	// have no examples. With twice as many wake-ups there is one recorded for each that is new.
	leastAwakened = 2
	// LeastLeft is which part of the time that goroutines compute others must leave them, to
	// matter: a tenth of a point of an answer is not worth a simulation more.
	LeastLeft = 0.001
)

// Awakened returns for which part of the goroutines that come to a processor which sleeps the
// recording has no example, from 0 to 1. With 10 of 100 goroutines there and 50 of 100 here it is 1
// - 2*0.1/0.5 = 0.6: TestAwakened.
func (o *Outcome) Awakened(base *Outcome) float64 {
	part := func(o *Outcome) float64 { return float64(o.Asleep) / float64(max(1, o.Woken)) }
	if o.Asleep == 0 {
		return 0
	}
	return max(0, 1-leastAwakened*part(base)/part(o))
}

// An Outcome is what a simulation came to. Its lists are its own: the next simulation of the
// program does not change them. Times are ns since the window began.
type Outcome struct {
	Visits    [][]int64 // by progress point, when, in order
	Durations [][]int64 // by progress point, of its spans, ns
	Held      []int     // by set: spans that goroutines were held behind, for however long
	ended     int64     // when the simulation ended
	Stuck     bool      // nothing could go on any more
	Steps     int
	// Work is what that took: the ops that were done, and the times that one was come back to.
	Work    int
	choices int // select statements that were come to
	late    int // select statements that timers ended
	second  int // times that an element was there and not taken, since others are taken first
	// Strayed are the select statements that would have ended in a way of which the recording has
	// no example.
	strayed int
	untold  int   // select statements of which no channel is known
	Broken  int   // waits that were given up since nothing went on
	Roused  int   // processors that a goroutine had to wake up for another one
	Woken   int   // times that goroutines became ready, also as they were started
	Asleep  int   // of these, found a processor that slept
	Ran     int64 // how long goroutines computed, together, ns
	// Lagged is how long processors took to come back, together, where the recording has no
	// example, ns.
	lagged int64
}

// Settled returns the durations at a progress point but for the first tenth of them (warm-up): as
// the simulation begins all queues are as recorded, and those of a changed program build up first.
func (o *Outcome) Settled(point int) []int64 {
	return o.Durations[point][len(o.Durations[point])/10:]
}

// Rousing returns by how many more processors goroutines woke up for each visit of a progress point
// than with nothing changed. Each costs its waker or its goroutine some time that the recording may
// show too little of: model.RouseError bounds that.
func (o *Outcome) Rousing(base *Outcome, point int) float64 {
	rate := func(o *Outcome) float64 { return float64(o.Roused) / float64(max(1, len(o.Visits[point]))) }
	return rate(o) - rate(base)
}

// Lagging returns how long goroutines waited for that where the recording has no example, for each
// visit, ns.
func (o *Outcome) Lagging(point int) float64 {
	return float64(o.lagged) / float64(max(1, len(o.Visits[point])))
}

// OtherLags are the values of Change.Lag that have processors come back sooner, and later. Where
// the recording has quantiles they differ by half. Where it has not they span what machines take,
// from model.LeastRouse to model.MostRouse: with a usual time of 50 µs that is 5 to 200 µs, or 0.1
// and 4 (TestLagOfOneProcessor). P.Cross must not be 0 then.
func OtherLags(p *model.Program) [2]float64 {
	fast, slow := 1-model.RouseSpread, 1+model.RouseSpread
	if len(p.Lags) == 0 {
		fast, slow = min(fast, model.LeastRouse/float64(p.Cross)), max(slow, model.MostRouse/float64(p.Cross))
	}
	return [2]float64{fast, slow}
}

// A Variation holds the results of simulations that differ in what the recording does not show,
// such as when processors come back, where that matters. Base is the simulation of nothing changed
// that the other one is held against, with the same difference or without it.
type Variation struct {
	Base, Changed Outcome
}
