package pmuattrs

import (
	"fmt"

	"github.com/otelprof/otelprof/internal/perf"
)

// threadUsage reads what the kernel accounts to each thread anyway: CPU time, page faults and
// context switches. It needs no privileges and works in every container on Linux. It has no
// state: one Usage serves all threads.
type threadUsage struct{ set *eventSet }

// usageField is which part of [perf.Usage] an event is; 0 for events of perf.
type usageField uint8

const (
	usageCPU usageField = iota + 1
	usageUser
	usageSystem
	usageMinorFaults
	usageMajorFaults
	usageVoluntary
	usageInvoluntary
)

// openUsage returns a Usage. The error wraps [ErrNotSupported] on systems other than Linux.
func openUsage() (*threadUsage, error) {
	if err := perf.ThreadUsage(new(perf.Usage)); err != nil {
		return nil, fmt.Errorf("pmuattrs: thread usage: %w", err)
	}
	return &threadUsage{set: internSet(SourceUsage, []Event{
		CPUTime, userTime, systemTime, minorFaults, majorFaults, voluntarySwitches, involuntarySwitches,
	})}, nil
}

// Source returns [SourceUsage].
func (u *threadUsage) Source() Source { return u.set.source }

// Events returns CPUTime, UserTime, SystemTime, MinorFaults, MajorFaults, VoluntarySwitches
// and InvoluntarySwitches.
func (u *threadUsage) Events() []Event { return u.set.events }

// Read fills r with what the calling OS thread has used since it began. It takes three system
// calls, about 1 µs, and allocates nothing. Any thread may call it; two readings can only be
// compared if they are of the same one.
func (u *threadUsage) Read(r *Reading) error {
	var used perf.Usage
	if err := perf.ThreadUsage(&used); err != nil {
		*r = Reading{}
		return fmt.Errorf("pmuattrs: thread usage: %w", err)
	}
	*r = Reading{of: identity{thread: int32(perf.Thread()), set: u.set.id}}
	r.values.Counts = [maxEvents]uint64{
		usageCPU - 1:         uint64(used.CPU),
		usageUser - 1:        uint64(used.User),
		usageSystem - 1:      uint64(used.System),
		usageMinorFaults - 1: uint64(used.MinorFaults),
		usageMajorFaults - 1: uint64(used.MajorFaults),
		usageVoluntary - 1:   uint64(used.VoluntarySwitches),
		usageInvoluntary - 1: uint64(used.InvoluntarySwitches),
	}
	return nil
}

// Close does nothing: there is nothing open.
func (u *threadUsage) Close() error { return nil }
