package main

import (
	"context"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// A workload is a program of which something is asked.
type workload struct {
	name    string
	about   string
	regions []string // what is asked about, and can be made faster
	run     func(context.Context, *program)
	// control is the region without an effect, and kind which control it is.
	control, kind string
	// withholds means that overlap cannot be right here, and withholds the number.
	withholds bool
	// computes means that it needs the processors, whose speed changes from one moment to the
	// next, and has no queues that take long to fill: many short windows give more than a few.
	computes bool
	// long means that a short window proves little: goroutines which do different things take turns at the
	// processors, for 20 ms each, so that some of them have a turn more than others; or locks are waited for in
	// chains.
	long bool
	// varies means that how long its pieces take is random: windows must be long for that to even out.
	varies bool
	// short means that it is part of a quick run.
	short bool
	// types are whose locks and channels it has. Default: causal's.
	types types
	// shape is how it is built. Default: the usual way.
	shape shape
	// class is what it spends its time on, for the summary.
	class class
	// request is the span whose latency is asked about as well, "" for none.
	request string
}

// workloads are those of the design, by its numbers.
func workloads() []workload {
	return []workload{
		{
			name: "join", about: "1: 10 ms and 6 ms side by side, and a join", class: outside,
			regions: []string{"a", "b"}, run: join(10*ms, 6*ms), short: true,
		},
		{
			name: "mutex_io", about: "2: 8 goroutines, 10 ms each and 2 ms under a lock", class: contended,
			regions: []string{"critical"}, run: mutexes(8, (*program).io, 10*ms, 2*ms), short: true, control: "nothing", kind: "noop",
		},
		{
			name: "mutex_cpu", about: "2: 2 goroutines, 200 µs each and 100 µs under a lock, all computing", class: computing,
			regions: []string{"critical"}, run: mutexes(2, (*program).cpu, 200*us, 100*us), computes: true,
		},
		{
			name: "pipeline", about: "3: 10 ms, a channel of 2, 7 ms", class: outside,
			regions: []string{"produce", "consume"}, run: pipeline(10*ms, 7*ms, 0),
		},
		{
			name: "fanout", about: "4: 2 ms, then 10 ms and 7 ms side by side, then 2 ms", class: outside,
			regions: []string{"b1", "b2"}, run: fanOut(2*ms, 10*ms, 7*ms),
		},
		{
			name: "serial", about: "one goroutine, 200 µs and 300 µs, computing, and one aside", class: computing,
			regions: []string{"c"}, run: serialAndAside, computes: true, short: true, control: "aside", kind: "aside",
		},
		{
			name: "renamed", about: "two routes in turn, 10 ms and 6 ms, whose spans start as GET and are renamed", class: outside,
			regions: []string{"GET /orders/{id}", "GET /carts/{id}"}, run: routes(10*ms, 6*ms), short: true,
		},
		{
			name: "bursts", about: "4 ms, and in each fifth 200 ms 4 ms more, which is a half then", class: outside,
			regions: []string{"burst"}, run: bursts(4*ms, 4*ms), short: true, varies: true, long: true,
		},
		{
			name: "randmutex", about: "7: 8 clients who wait and compute, and draw from a slow source under a lock", class: contended,
			regions: []string{"draw"}, run: randMutex,
		},
		{
			name: "fasta", about: "8: 2 workers; random numbers under a lock, looked up side by side, written in order", class: computing,
			regions: []string{"random", "select"}, run: fasta, computes: true,
		},
		{
			name: "saturated", about: "5: 8 goroutines that compute on all processors", class: crowded,
			regions: []string{"c"}, run: saturated(8), computes: true, withholds: true, short: true,
		},
		{
			name: "plain_mutex", about: "mutex_io with a lock of package sync, which is not seen", class: contended,
			regions: []string{"critical"}, run: mutexes(8, (*program).io, 10*ms, 2*ms), types: plainTypes, withholds: true,
		},
	}
}

// of returns the workloads with these types.
func of(t types, all []workload) []workload {
	for i := range all {
		all[i].types = t
	}
	return all
}
