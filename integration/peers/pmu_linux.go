package main

import (
	"errors"
	"runtime"

	perfutils "github.com/hodgesds/perf-utils"

	"github.com/otelprof/otelprof/pmuattrs"
)

// Events that the kernel counts stand for the CPU's, so that the figure can be had on machines
// without a PMU. To read one of those, the kernel also asks the CPU, on either side.
const separateEvents = perfutils.TaskClockProfiler | perfutils.PageFaultProfiler | perfutils.ContextSwitchProfiler | perfutils.CpuMigrationProfiler

// openGroup reads four events as one group.
func openGroup() (*side, error) {
	runtime.LockOSThread()
	g, err := pmuattrs.Open(pmuattrs.TaskClock.WithKernel(), pmuattrs.PageFaults.WithKernel(), pmuattrs.ContextSwitches, pmuattrs.CPUMigrations)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	var reading pmuattrs.Reading
	return &side{
		name:   "otelprof-group",
		record: func(float64) { errRead = errors.Join(errRead, g.Read(&reading)) },
		settle: takeErrRead,
		close:  closing(g.Close),
	}, nil
}

// openSeparately reads the same events with perf-utils, which has a file for each.
func openSeparately() (*side, error) {
	runtime.LockOSThread()
	p, err := perfutils.NewSoftwareProfiler(0, -1, separateEvents)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	var profile perfutils.SoftwareProfile
	if err := errors.Join(p.Start(), p.Profile(&profile)); err != nil || profile.TaskClock == nil || profile.CPUMigrations == nil {
		return nil, errors.Join(errors.New("perf-utils has not all events"), err, closing(p.Close)())
	}
	return &side{
		name:   "hodgesds/perf-utils",
		record: func(float64) { errRead = errors.Join(errRead, p.Profile(&profile)) },
		settle: takeErrRead,
		close:  closing(p.Close),
	}, nil
}

// errRead is the error of any reading.
var errRead error

func takeErrRead() error {
	err := errRead
	errRead = nil
	return err
}

// closing unlocks the goroutine as well.
func closing(end func() error) func() error {
	return func() error {
		runtime.UnlockOSThread()
		return end()
	}
}
