package main

import (
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
)

// modeRuntime is profile.ModeOverlap in a program that the scheduler takes part in.
const modeRuntime profile.Mode = "runtime"

// planned is the mode that a plan asks for, and that curves have.
func planned(mode profile.Mode) profile.Mode {
	if mode == modeRuntime {
		return profile.ModeOverlap
	}
	return mode
}

// shorter leaves something out, since there are more workloads.
func (s settings) shorter() settings {
	s.speedups, s.patience = []float64{0.25, 0.5, 0.75}, 6*time.Second
	return s
}

// plainWorkloads are the workloads with plain mutexes, channels and goroutines, and ones that only
// the scheduler can see through. What waits does so once, for 5 ms at most, see clock.Sleep: a wait
// in several parts would make up for what is paid between them.
func plainWorkloads() []workloads.Workload {
	return workloads.Of(workloads.PlainTypes, []workloads.Workload{
		{
			Name: "join", About: "1: 5 ms and 3 ms side by side, and a sync.WaitGroup", Class: workloads.Outside,
			Regions: []string{"a", "b"}, Run: workloads.Join(5*ms, 3*ms), Short: true,
		},
		{
			Name: "mutex_io", About: "2: 8 goroutines, 5 ms each and 1 ms under a sync.Mutex", Class: workloads.Contended,
			Regions: []string{"critical"}, Run: workloads.Mutexes(8, (*workloads.Program).IO, 5*ms, ms), Short: true, Control: "nothing", Kind: "noop",
		},
		{
			Name: "mutex_cpu", About: "2: 2 goroutines, 200 µs each and 100 µs under a sync.Mutex, all computing", Class: workloads.Computing,
			Regions: []string{"critical"}, Run: workloads.Mutexes(2, (*workloads.Program).CPU, 200*us, 100*us), Computes: true, Control: "nothing", Kind: "noop",
		},
		{
			Name: "pipeline", About: "3: 5 ms, a chan of 2, 3.5 ms", Class: workloads.Outside,
			Regions: []string{"produce", "consume"}, Run: workloads.Pipeline(5*ms, 3500*us, 0),
		},
		{
			Name: "fanout", About: "4: 1 ms, then 5 ms and 3.5 ms side by side, then 1 ms", Class: workloads.Outside,
			Regions: []string{"b1", "b2"}, Run: workloads.FanOut(ms, 5*ms, 3500*us),
		},
		{
			Name: "serial", About: "one goroutine, 200 µs and 300 µs, computing, and one aside", Class: workloads.Computing,
			Regions: []string{"c"}, Run: workloads.SerialAndAside, Computes: true, Short: true, Control: "aside", Kind: "aside",
		},
		{
			Name: "randmutex", About: "7: 8 clients who wait and compute, and draw from a slow source under a sync.Mutex", Class: workloads.Contended,
			Regions: []string{"draw"}, Run: workloads.RandMutex, Control: "fetch", Kind: "slack",
		},
		{
			Name: "fasta", About: "8: 2 workers; random numbers under a sync.Mutex, looked up side by side, written in order", Class: workloads.Computing,
			Regions: []string{"random", "select"}, Run: workloads.Fasta, Computes: true,
		},
		{
			Name: "errgroup", About: "an errgroup of two at a time: 5 ms, and twice 2 ms", Class: workloads.Outside,
			Regions: []string{"long", "short"}, Run: workloads.Grouped,
		},
		{
			Name: "netpoll", About: "2: 8 connections of another process, which thinks for 5 ms, and 1 ms under a sync.Mutex", Class: workloads.Contended,
			Regions: []string{"critical"}, Run: workloads.Serve, Short: true, Control: "nothing", Kind: "noop",
		},
		{
			Name: "saturated", About: "5: 8 goroutines that compute on all processors", Class: workloads.Crowded,
			Regions: []string{"c"}, Run: workloads.Saturated(8), Computes: true, Short: true,
		},
		{
			Name: "saturated_64", About: "5: 64 goroutines that compute on all processors", Class: workloads.Crowded,
			Regions: []string{"c"}, Run: workloads.Crowd(64),
		},
		{
			Name: "background", About: "5: 8 goroutines that compute, and 2 that compute without spans", Class: workloads.Crowded,
			Regions: []string{"c"}, Run: workloads.Background, Long: true,
		},
	})
}
