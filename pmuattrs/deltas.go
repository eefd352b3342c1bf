package pmuattrs

import (
	"iter"
	"slices"
	"time"
)

// Deltas are what was counted between two readings. All counts are of the same stretch of
// the thread's life, none is estimated.
type Deltas struct {
	// Enabled is the CPU time of the thread, and Running that part of it in which it had
	// its counters; they are equal. They are as of the last system calls, so they are too short,
	// mostly 0, where [Group.UserSpace] is true. Both are 0 if the source is [SourceUsage],
	// which has CPU time as an event.
	Enabled, Running time.Duration

	set    *eventSet
	counts [maxEvents]int64
}

// Source returns where the counts come from; it is empty for the zero Deltas.
func (d *Deltas) Source() Source {
	if d.set == nil {
		return ""
	}
	return d.set.source
}

// All yields the events and their counts, none of which is negative.
func (d *Deltas) All() iter.Seq2[Event, int64] {
	return func(yield func(Event, int64) bool) {
		if d.set == nil {
			return
		}
		for i, e := range d.set.events {
			if !yield(e, d.counts[i]) {
				return
			}
		}
	}
}

// Count returns the count of an event, and whether it was counted.
func (d *Deltas) Count(e Event) (int64, bool) {
	if d.set != nil {
		if i := slices.Index(d.set.events, e); i >= 0 {
			return d.counts[i], true
		}
	}
	return 0, false
}

// IPC is the number of instructions per cycle, if both were counted, and in the same parts of
// the program: both in user code or both with the kernel.
func (d *Deltas) IPC() (float64, bool) {
	s := d.set
	if s == nil || s.cycles < 0 || s.instructions < 0 || d.counts[s.cycles] == 0 {
		return 0, false
	}
	return float64(d.counts[s.instructions]) / float64(d.counts[s.cycles]), true
}
