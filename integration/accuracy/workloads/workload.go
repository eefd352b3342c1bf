// Package workloads has the programs that answers are held against: each is run as it is, and with
// a region really faster.
package workloads

import (
	"context"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// A Workload is a program of which something is asked.
type Workload struct {
	Name    string
	About   string
	Regions []string // what is asked about, and can be made faster
	Run     func(context.Context, *Program)
	// Control is the region without an effect, and kind which control it is.
	Control, Kind string
	// Withholds means that overlap cannot be right here, and withholds the number.
	Withholds bool
	// Computes means that it needs the processors, whose speed changes from one moment to the
	// next, and has no queues that take long to fill: many short windows give more than a few.
	Computes bool
	// Long means that a short window proves little: goroutines which do different things take turns
	// at the processors, for 20 ms each, so that some of them have a turn more than others; or
	// locks are waited for in chains.
	Long bool
	// Varies means that how long its pieces take is random: windows must be long for that to even
	// out.
	Varies bool
	// Short means that it is part of a quick run.
	Short bool
	// Types are whose locks and channels it has. Default: causal's.
	Types Types
	// Shape is how it is built. Default: the usual way.
	Shape Shape
	// Class is what it spends its time on, for the summary.
	Class Class
	// Request is the span whose latency is asked about as well, "" for none.
	Request string
}

// Designed are those of the design, by its numbers.
func Designed() []Workload {
	return []Workload{
		{
			Name: "join", About: "1: 10 ms and 6 ms side by side, and a join", Class: Outside,
			Regions: []string{"a", "b"}, Run: Join(10*ms, 6*ms), Short: true,
		},
		{
			Name: "mutex_io", About: "2: 8 goroutines, 10 ms each and 2 ms under a lock", Class: Contended,
			Regions: []string{"critical"}, Run: Mutexes(8, (*Program).IO, 10*ms, 2*ms), Short: true, Control: "nothing", Kind: "noop",
		},
		{
			Name: "mutex_cpu", About: "2: 2 goroutines, 200 µs each and 100 µs under a lock, all computing", Class: Computing,
			Regions: []string{"critical"}, Run: Mutexes(2, (*Program).CPU, 200*us, 100*us), Computes: true,
		},
		{
			Name: "pipeline", About: "3: 10 ms, a channel of 2, 7 ms", Class: Outside,
			Regions: []string{"produce", "consume"}, Run: Pipeline(10*ms, 7*ms, 0),
		},
		{
			Name: "fanout", About: "4: 2 ms, then 10 ms and 7 ms side by side, then 2 ms", Class: Outside,
			Regions: []string{"b1", "b2"}, Run: FanOut(2*ms, 10*ms, 7*ms),
		},
		{
			Name: "serial", About: "one goroutine, 200 µs and 300 µs, computing, and one aside", Class: Computing,
			Regions: []string{"c"}, Run: SerialAndAside, Computes: true, Short: true, Control: "aside", Kind: "aside",
		},
		{
			Name: "renamed", About: "two routes in turn, 10 ms and 6 ms, whose spans start as GET and are renamed", Class: Outside,
			Regions: []string{"GET /orders/{id}", "GET /carts/{id}"}, Run: routes(10*ms, 6*ms), Short: true,
		},
		{
			Name: "bursts", About: "4 ms, and in each fifth 200 ms 4 ms more, which is a half then", Class: Outside,
			Regions: []string{"burst"}, Run: bursts(4*ms, 4*ms), Short: true, Varies: true, Long: true,
		},
		{
			Name: "randmutex", About: "7: 8 clients who wait and compute, and draw from a slow source under a lock", Class: Contended,
			Regions: []string{"draw"}, Run: RandMutex,
		},
		{
			Name: "fasta", About: "8: 2 workers; random numbers under a lock, looked up side by side, written in order", Class: Computing,
			Regions: []string{"random", "select"}, Run: Fasta, Computes: true,
		},
		{
			Name: "saturated", About: "5: 8 goroutines that compute on all processors", Class: Crowded,
			Regions: []string{"c"}, Run: Saturated(8), Computes: true, Withholds: true, Short: true,
		},
		{
			Name: "plain_mutex", About: "mutex_io with a lock of package sync, which is not seen", Class: Contended,
			Regions: []string{"critical"}, Run: Mutexes(8, (*Program).IO, 10*ms, 2*ms), Types: PlainTypes, Withholds: true,
		},
	}
}

// Of returns the workloads with these types.
func Of(t Types, all []Workload) []Workload {
	for i := range all {
		all[i].Types = t
	}
	return all
}
