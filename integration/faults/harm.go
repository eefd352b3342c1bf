package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	rtrace "runtime/trace"
	"strconv"
	"sync"
	"time"
)

// harm is what a service does to its own process while a fault lasts.
type harm struct {
	mu   sync.Mutex
	undo func()
}

func (h *harm) start(s *service, kind, arg string) error {
	h.stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	n, _ := strconv.Atoi(arg)
	switch kind {
	case "files":
		h.undo = exhaustFiles()
	case "memory":
		ballast := bytes.Repeat([]byte{1}, n<<20)
		h.undo = func() { runtime.KeepAlive(ballast) }
	case "processors":
		h.undo = changeProcessors()
	case "goroutines":
		h.undo = s.park(n)
	case "trace": // otelprof may be recording at this moment
		if err := await("a trace that is nothing of otelprof's", func() bool { return rtrace.Start(io.Discard) == nil }); err != nil {
			return err
		}
		h.undo = rtrace.Stop
	case "record":
		go func() { _ = s.profiler.Causal().Record(context.Background(), 3*time.Second) }()
	case "analyse":
		go func() { _ = s.profiler.Causal().Record(context.Background(), time.Second) }()
		return await("an analysis", func() bool { return s.profiler.Causal().Status().Recording.Phase == "analysing" })
	case "experiment":
		return await("an experiment", func() bool { return s.profiler.Causal().Status().Experiment != "" })
	case "profile":
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			return fmt.Errorf("the CPU profile: %w", err)
		}
		h.undo = pprof.StopCPUProfile
	default:
		return fmt.Errorf("harm %q: must be one of a fault", kind)
	}
	return nil
}

// await waits until something goes on, for half a minute at most.
func await(what string, goesOn func() bool) error {
	for deadline := time.Now().Add(30 * time.Second); !goesOn(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has not begun in 30 s", what)
		}
	}
	return nil
}

func (h *harm) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.undo != nil {
		h.undo()
		h.undo = nil
	}
}

// exhaustFiles opens files until there are no more descriptors, and again as others are closed.
func exhaustFiles() (undo func()) {
	var files []*os.File
	return repeat(10*time.Millisecond, func(int) {
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return
			}
			files = append(files, f)
		}
	}, func() {
		for _, f := range files {
			_ = f.Close()
		}
	})
}

// changeProcessors sets GOMAXPROCS to 1, 2, 3 and so on in turn, each for half a second.
func changeProcessors() (undo func()) {
	before := runtime.GOMAXPROCS(0)
	return repeat(500*time.Millisecond, func(i int) { runtime.GOMAXPROCS(before + i%4) }, func() { runtime.GOMAXPROCS(before) })
}

// repeat calls again, with 0, 1, 2 and so on, and a pause after each, until it is undone: then it
// calls last.
func repeat(pause time.Duration, again func(i int), last func()) (undo func()) {
	quit := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for i := 0; ; i++ {
			again(i)
			select {
			case <-quit:
				last()
				return
			case <-time.After(pause):
			}
		}
	})
	return func() { close(quit); running.Wait() }
}

// park starts goroutines that wait inside a span of their own.
func (s *service) park(n int) (undo func()) {
	quit := make(chan struct{})
	var parked sync.WaitGroup
	for range n {
		parked.Go(func() { s.part(context.Background(), "parked", func() { <-quit }) })
	}
	return func() { close(quit); parked.Wait() }
}
