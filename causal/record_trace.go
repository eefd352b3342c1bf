package causal

import (
	"context"
	"fmt"
	"io"
	"runtime/pprof"
	"time"
)

// A Trace is an execution trace of the process, as otelprof whatif and go tool trace read it.
type Trace struct {
	io.Reader
	Bytes   int // from the beginning of the trace to its end
	Machine Machine
}

// A Machine is what became of the processors while a trace was taken.
type Machine struct {
	// CPU is what the program had of them, all threads together; 0 where that is not known.
	CPU time.Duration `json:"cpu_ns"`
	// Others is what other programs had, and Stolen what the host of a virtual machine took, on all
	// processors together.
	Others time.Duration `json:"others_ns"`
	Stolen time.Duration `json:"stolen_ns"`
	// Throttled is for how long the program's threads had to wait since they had used up the quota
	// of their cgroup.
	Throttled time.Duration `json:"throttled_ns"`
	// Waited is for how long any thread of the machine had to wait for a processor (pressure stall
	// information); 0 where that is not known.
	Waited time.Duration `json:"waited_ns"`
}

// RecordTrace records the program as [Controller.Record] does, for d, in [MinWindow, MaxWindow], or
// until there are as many bytes as that may have, and returns the trace in place of an analysis,
// for questions about functions and about the program built in another way. The trace is in memory
// for as long as it is referred to. It has no part in the [Controller.Profile].
//
// With samples a CPU profile is on meanwhile, 100 samples for each second of computing, so that
// functions which compute are known; if others take one already, the trace has the samples of that.
//
// Errors are those of Record. It may be called at the same time as all other methods.
func (c *Controller) RecordTrace(ctx context.Context, d time.Duration, samples bool) (*Trace, error) {
	ctx, done, err := c.mayRecord(ctx, d)
	if err != nil {
		return nil, err
	}
	defer done()
	w, err := c.recorder.Window(ctx, d, func() (end func()) {
		if samples && pprof.StartCPUProfile(io.Discard) == nil {
			return pprof.StopCPUProfile
		}
		return func() {}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecording, err)
	}
	return &Trace{w.Reader(), w.Bytes(), Machine(w.Load)}, nil
}
