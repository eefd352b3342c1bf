package sched

import "time"

// Limits bound the delays of an experiment, each before it is made.
type Limits struct {
	// PerSpan is the most that a goroutine is delayed by between two of its stops, see [Times], or
	// points. While it is, a processor is held for Longest at most.
	PerSpan, Longest time.Duration
	// PerTrace is the most by which all goroutines of a [Request] are delayed together.
	PerTrace time.Duration
	// Duty is the most in any 100 ms, Total the most of the experiment. The delay that would exceed
	// Total ends it.
	Duty, Total time.Duration
}

// DutyWindow is the time that [Limits.Duty] is about.
const DutyWindow = 100 * time.Millisecond

// Refusals count the delays that were owed and not made, or cut, by the limit that refused them.
type Refusals struct {
	PerSpan, PerTrace, Duty, Total int64
	// Idle are the requests that came on a connection after 20 ms without one: what it owed is
	// forgotten.
	Idle int64
	// Arrivals are all requests that came from the network, those among them and those of Unpaid.
	Arrivals int64
	// Unpaid are the requests whose goroutines waited once more between the network and the
	// request, for less than they owed: for a lock, say. What they owed is forgotten.
	Unpaid int64
}
