// Package classes has what all spans of one region have in common, at hand of each.
package classes

import (
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans"
)

// A Class is what all spans of one region, one scope and name, have in common. A span that is
// renamed is of two: the class of the name that it was started with, and the class of its last one,
// which is known when it ends.
type Class struct {
	ID    ledger.RegionID // ledger.NoRegion once there are too many
	Key   profile.Region
	self  atomic.Int64 // time in which no child was open, ns, of spans that end with this name
	other atomic.Int64 // the same, of spans that begin with it and end as others
	took  atomic.Int64 // ns
	Count atomic.Int64
	Root  atomic.Bool // it has been a local root

	// Last is the class that a span ended as which was started as this one, the latest; several is
	// set once there are two.
	Last    atomic.Pointer[Class]
	Several atomic.Bool
	// From is a class that spans were started as which ended as this one, if another; unforeseen is
	// set if such spans may end as others.
	From       atomic.Pointer[Class]
	Unforeseen atomic.Bool
}

// Ended books the end of a span that was started as this class.
func (c *Class) Ended(r *spans.Span) {
	last, took := c.LastOf(r), int64(r.Duration())
	last.self.Add(int64(r.SelfTime()))
	last.took.Add(took)
	last.Count.Add(1)
	if r.Parent() == nil && !last.Root.Load() {
		last.Root.Store(true)
	}
	if known := c.Last.Load(); known != last {
		if known != nil {
			c.Several.Store(true)
		}
		c.Last.Store(last)
	}
	if last == c {
		return
	}
	c.other.Add(int64(r.SelfTime()))
	c.took.Add(took)
	c.Count.Add(1)
	if last.From.Load() == nil {
		last.From.Store(c)
	}
	if c.Several.Load() && !last.Unforeseen.Load() {
		last.Unforeseen.Store(true)
	}
}

// LastOf returns the class of the name that a span has now, which was started as this one.
func (c *Class) LastOf(r *spans.Span) *Class {
	name := r.Name()
	if name == r.StartName() || c.ID == ledger.NoRegion {
		return c
	}
	if last := c.Last.Load(); last != nil && last.Key.Name == name {
		return last
	}
	return Intern(profile.Region{Scope: c.Key.Scope, Name: name})
}

// Foreseen returns the class that spans end as which are started as this one, nil if that is not
// known.
func (c *Class) Foreseen() *Class {
	if c.Several.Load() {
		return nil
	}
	return c.Last.Load()
}

// MayBeRenamed reports whether spans that are started as this class may end as another.
func (c *Class) MayBeRenamed() bool { return c.Foreseen() != c }

// Begins reports whether spans of this region are begun as first, as far as that is known then: by
// the name that they have, or by the one that all such spans have ended with so far.
func (c *Class) Begins(first *Class) bool {
	return c.ID == first.ID || !c.Unforeseen.Load() && first.Foreseen() == c
}

// A Usage is what a class has come to.
type Usage struct{ Self, Renamed, Count, took int64 }

// Usage is what the class has come to by now.
func (c *Class) Usage() Usage {
	return Usage{c.self.Load(), c.other.Load(), c.Count.Load(), c.took.Load()}
}

// Ran adds to an experiment what a region has done since it had come to before.
func (c *Class) Ran(e *experiment.Experiment, before Usage) {
	now := c.Usage()
	e.Ends, e.Took = now.Count-before.Count, time.Duration(now.took-before.took)
	e.Self = time.Duration(now.Self + now.Renamed - before.Self - before.Renamed)
}

// Usages are what all classes have come to.
func Usages() map[*Class]Usage {
	all := map[*Class]Usage{}
	for _, c := range All() {
		if c.ID == ledger.NoRegion {
			continue
		}
		all[c] = c.Usage()
	}
	return all
}

// maxClasses bounds the number of regions that are distinguished.
const maxClasses = 4096

var (
	// slot is where spans' names have their class at hand.
	slot = spans.NewNameSlot[Class]()
	// regions are the classes of the program, by ID. They are never removed. One stands for all
	// regions that are not told apart, here or by package spans: no hypothesis is about it.
	regions = registry.New(maxClasses, hashOf, func(int) *Class {
		return &Class{ID: ledger.NoRegion, Key: profile.Region{Name: "other"}}
	})
)

func hashOf(k profile.Region) uint64 {
	return registry.Mix(registry.String(k.Name), registry.String(k.Scope))
}

// Of returns the class that a region was started as, in a few nanoseconds but for the first time.
func Of(r *spans.Span) *Class {
	if c := slot.Get(r); c != nil {
		return c
	}
	c := regions.Other()
	if slot.Own(r) {
		c = Intern(profile.Region{Scope: r.Scope().Name, Name: r.StartName()})
	}
	slot.Set(r, c)
	return c
}

// Intern returns the class of a region, a new one if there is none and room for it.
func Intern(key profile.Region) *Class {
	if c := regions.Get(key); c != nil {
		return c
	}
	return regions.Add(key, func(id int) *Class { return &Class{ID: ledger.RegionID(id), Key: key} })
}

// All returns them by ID. The slice must not be changed.
func All() []*Class { return regions.All() }

// Known returns the class of a region that has been seen, nil for another.
func Known(key profile.Region) *Class { return regions.Get(key) }
