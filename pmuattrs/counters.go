package pmuattrs

import (
	"errors"
	"fmt"
	"slices"
)

// A Source is where counts come from: the value of the attribute pmu.source.
type Source string

// The sources of counts.
const (
	SourceHardware Source = "hw"     // counters of the CPU and of the kernel, by perf_event_open
	SourceUsage    Source = "rusage" // what the kernel accounts to each thread anyway
)

// Counters count on one OS thread. [*Group] implements it, and so does what [OpenBest] returns in
// place of one.
type Counters interface {
	// Source is [SourceHardware] or [SourceUsage].
	Source() Source
	// Events returns what is counted, at most eight. It must not be modified.
	Events() []Event
	// Read fills r with what was counted so far, and allocates nothing unless it fails. The
	// calling goroutine must be locked to the thread that is counted.
	Read(r *Reading) error
	// Close stops counting. It may be called by any goroutine, more than once.
	Close() error
}

// OpenBest returns the best counters that the calling OS thread, to which the goroutine must
// be locked, can have: those of the events which the machine has, or else the thread's usage.
// The error names what is missing; it can be there along with the counters. It is nil if all
// events are counted, and the counters are nil where there is not even the usage.
func OpenBest(events ...Event) (Counters, error) {
	group, reason := openSome(events)
	if group != nil {
		return group, reason
	}
	usage, err := openUsage()
	if err != nil {
		return nil, errors.Join(reason, err)
	}
	return usage, reason
}

// openSome opens the events that the machine has. The error names the others.
func openSome(events []Event) (*Group, error) {
	var reasons []error
	for {
		group, err := Open(events...)
		if err == nil {
			return group, errors.Join(reasons...)
		}
		reasons = append(reasons, err)
		var refused *Error
		if !errors.Is(err, ErrNoEvent) || !errors.As(err, &refused) || len(events) == 1 {
			return nil, errors.Join(reasons...)
		}
		events = slices.Delete(slices.Clone(events), refused.Event, refused.Event+1)
	}
}

// checkEvents returns an error if the events cannot be counted together.
func checkEvents(events []Event) error {
	for i, e := range events {
		switch {
		case e == Event{}:
			return fmt.Errorf("%w: number %d of %d: must not be the zero event", ErrEvent, i+1, len(events))
		case e.usage != 0:
			return fmt.Errorf("%w: %s: no counter counts it, the usage of threads has it", ErrEvent, e)
		case slices.ContainsFunc(events[:i], func(other Event) bool { return other.name == e.name }):
			return fmt.Errorf("%w: %s: must not be given twice", ErrEvent, e)
		}
	}
	return nil
}
