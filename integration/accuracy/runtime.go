package main

import (
	"errors"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// modeRuntime is profile.ModeOverlap in a program that the scheduler takes part in.
const modeRuntime profile.Mode = "runtime"

var errNotRuntime = errors.New("-mode runtime: must be run by otelprof run, which builds the scheduler in")

// planned is the mode that a plan asks for, and that curves have.
func planned(mode profile.Mode) profile.Mode {
	if mode == modeRuntime {
		return profile.ModeOverlap
	}
	return mode
}

// runtimeKnown reports whether a mode can be measured in this program. Where the scheduler takes part, all
// overlaps are its own.
func runtimeKnown() error {
	if !sched.Present {
		return errNotRuntime
	}
	return nil
}

// shorter leaves something out, since there are more workloads.
func (s settings) shorter() settings {
	s.speedups, s.patience = []float64{0.25, 0.5, 0.75}, 6*time.Second
	return s
}

// plainWorkloads are the workloads with plain mutexes, channels and goroutines, and ones that only the scheduler
// can see through. What waits does so once, for 5 ms at most, see clock.Sleep: a wait in several parts
// would make up for what is paid between them.
func plainWorkloads() []workload {
	return of(plainTypes, []workload{
		{
			name: "join", about: "1: 5 ms and 3 ms side by side, and a sync.WaitGroup", class: outside,
			regions: []string{"a", "b"}, run: join(5*ms, 3*ms), short: true,
		},
		{
			name: "mutex_io", about: "2: 8 goroutines, 5 ms each and 1 ms under a sync.Mutex", class: contended,
			regions: []string{"critical"}, run: mutexes(8, (*program).io, 5*ms, ms), short: true, control: "nothing", kind: "noop",
		},
		{
			name: "mutex_cpu", about: "2: 2 goroutines, 200 µs each and 100 µs under a sync.Mutex, all computing", class: computing,
			regions: []string{"critical"}, run: mutexes(2, (*program).cpu, 200*us, 100*us), computes: true, control: "nothing", kind: "noop",
		},
		{
			name: "pipeline", about: "3: 5 ms, a chan of 2, 3.5 ms", class: outside,
			regions: []string{"produce", "consume"}, run: pipeline(5*ms, 3500*us, 0),
		},
		{
			name: "fanout", about: "4: 1 ms, then 5 ms and 3.5 ms side by side, then 1 ms", class: outside,
			regions: []string{"b1", "b2"}, run: fanOut(ms, 5*ms, 3500*us),
		},
		{
			name: "serial", about: "one goroutine, 200 µs and 300 µs, computing, and one aside", class: computing,
			regions: []string{"c"}, run: serialAndAside, computes: true, short: true, control: "aside", kind: "aside",
		},
		{
			name: "randmutex", about: "7: 8 clients who wait and compute, and draw from a slow source under a sync.Mutex", class: contended,
			regions: []string{"draw"}, run: randMutex, control: "fetch", kind: "slack",
		},
		{
			name: "fasta", about: "8: 2 workers; random numbers under a sync.Mutex, looked up side by side, written in order", class: computing,
			regions: []string{"random", "select"}, run: fasta, computes: true,
		},
		{
			name: "errgroup", about: "an errgroup of two at a time: 5 ms, and twice 2 ms", class: outside,
			regions: []string{"long", "short"}, run: grouped,
		},
		{
			name: "netpoll", about: "2: 8 connections of another process, which thinks for 5 ms, and 1 ms under a sync.Mutex", class: contended,
			regions: []string{"critical"}, run: serve, short: true, control: "nothing", kind: "noop",
		},
		{
			name: "saturated", about: "5: 8 goroutines that compute on all processors", class: crowded,
			regions: []string{"c"}, run: saturated(8), computes: true, short: true,
		},
		{
			name: "saturated_64", about: "5: 64 goroutines that compute on all processors", class: crowded,
			regions: []string{"c"}, run: crowd(64),
		},
		{
			name: "background", about: "5: 8 goroutines that compute, and 2 that compute without spans", class: crowded,
			regions: []string{"c"}, run: background, long: true,
		},
	})
}
