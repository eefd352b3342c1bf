package perf

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Processors returns those that the calling thread may run on.
func Processors() ([]int, error) { return cpusOf([]int{0}), nil }

// Pin has the calling thread, and processes that it starts, run on these processors alone, until
// unpin is called. The caller holds the thread (runtime.LockOSThread).
func Pin(processors []int) (unpin func(), err error) {
	before, set := unix.NewCPUSet(maxCPUs), unix.NewCPUSet(maxCPUs)
	for _, i := range processors {
		set.Set(i)
	}
	if err := unix.SchedGetaffinityDynamic(0, before); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return nil, fmt.Errorf("sched_setaffinity %v: %w", processors, err)
	}
	return func() { _ = unix.SchedSetaffinityDynamic(0, before) }, nil
}
