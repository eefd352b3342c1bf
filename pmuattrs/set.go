package pmuattrs

import (
	"slices"
	"sync"
	"sync/atomic"
)

// An eventSet is what a reading consists of. A [Reading] names its set by number, so that
// it has no pointers and costs the garbage collector nothing.
type eventSet struct {
	id     uint32
	source Source
	events []Event
	// cycles and instructions are indexes in events, -1 if they are not there.
	cycles, instructions int
}

// sets has each set that was ever opened, by its number. A program has few.
var sets struct {
	sync.Mutex
	all atomic.Pointer[[]*eventSet]
}

// internSet returns the set of these events, which it keeps.
func internSet(source Source, events []Event) *eventSet {
	sets.Lock()
	defer sets.Unlock()
	var all []*eventSet
	if old := sets.all.Load(); old != nil {
		all = *old
	}
	for _, s := range all {
		if s.source == source && slices.Equal(s.events, events) {
			return s
		}
	}
	s := &eventSet{
		id: uint32(len(all)), source: source, events: events,
		cycles: slices.Index(events, Cycles), instructions: slices.Index(events, Instructions),
	}
	if s.cycles < 0 {
		s.cycles, s.instructions = slices.Index(events, Cycles.WithKernel()), slices.Index(events, Instructions.WithKernel())
	}
	all = append(slices.Clip(all), s)
	sets.all.Store(&all)
	return s
}

func setOf(id uint32) *eventSet { return (*sets.all.Load())[id] }
