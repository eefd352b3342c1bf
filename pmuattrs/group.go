package pmuattrs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/internal/perf"
)

// A Group counts events on one OS thread, all of them on the same instructions. Children of
// the goroutine run on other threads, or on this one at other times, and are not counted.
type Group struct {
	set    *eventSet
	opened uint64
	mu     sync.Mutex // against Close by another goroutine
	perf   *perf.Group
}

// lastOpened numbers groups, so that readings of two groups are never taken for one's.
var lastOpened atomic.Uint64

// Open counts 1 to 8 events on the calling OS thread, from now on. The machine may allow less: many
// PMUs have 4 to 6 general counters, and a few more for cycles and instructions. The calling
// goroutine must be locked to it by [runtime.LockOSThread] for as long as the group is read:
//
//	runtime.LockOSThread()
//	defer runtime.UnlockOSThread()
//
// It opens one file for each event. About 100 µs.
func Open(events ...Event) (*Group, error) {
	if err := checkEvents(events); err != nil {
		return nil, err
	}
	attrs := make([]perf.Event, len(events))
	for i, e := range events {
		attrs[i] = e.perf
	}
	group, err := perf.Open(attrs)
	if err != nil {
		var refused *Error
		if errors.As(err, &refused) && refused.Event >= 0 {
			return nil, fmt.Errorf("pmuattrs: open %s: %w", events[refused.Event], err)
		}
		return nil, fmt.Errorf("pmuattrs: open %v: %w", events, err)
	}
	return &Group{set: internSet(SourceHardware, slices.Clone(events)), opened: lastOpened.Add(1), perf: group}, nil
}

// Source returns [SourceHardware].
func (g *Group) Source() Source { return g.set.source }

// Events returns what is counted, in the order in which it was given to [Open]. It must not
// be modified.
func (g *Group) Events() []Event { return g.set.events }

// UserSpace reports whether Read takes no system call.
func (g *Group) UserSpace() bool { return g.perf.UserSpace() }

// Read fills r with the counts so far and allocates nothing. It takes one system call, 0.5
// to 1 µs, or some ten nanoseconds an event where [Group.UserSpace] is true. Only the goroutine
// that is locked to the thread which opened the group may call it: on another thread the
// counters are another thread's.
//
// After an error r holds nothing.
func (g *Group) Read(r *Reading) error {
	g.mu.Lock()
	err := g.perf.Read(&r.values)
	g.mu.Unlock()
	if err != nil {
		*r = Reading{}
		return fmt.Errorf("pmuattrs: read: %w", err)
	}
	r.of = identity{opened: g.opened, set: g.set.id}
	return nil
}

// Close stops counting and closes the files. It may be called by any goroutine, more than
// once.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.perf.Close(); err != nil {
		return fmt.Errorf("pmuattrs: close: %w", err)
	}
	return nil
}
