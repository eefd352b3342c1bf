package causal

import (
	"sync/atomic"
	"time"

	"github.com/otelprof/otelprof/causal/internal/experiment"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/registry"
	"github.com/otelprof/otelprof/spans"
)

// A class is what all spans of one region, one scope and name, have in common. A span that is renamed is of two: the class of the name
// that it was started with, and the class of its last one, which is known when it ends.
type class struct {
	id    ledger.RegionID // ledger.NoRegion once there are too many
	key   profile.Region
	self  atomic.Int64 // time in which no child was open, ns, of spans that end with this name
	took  atomic.Int64 // ns
	count atomic.Int64
	root  atomic.Bool // it has been a local root

	// last is the class that a span ended as which was started as this one, the latest; several is set once there are two.
	last    atomic.Pointer[class]
	several atomic.Bool
	// from is a class that spans were started as which ended as this one, if another; unforeseen is set if such spans may end as others.
	from       atomic.Pointer[class]
	unforeseen atomic.Bool
}

// ended books the end of a span that was started as this class.
func (c *class) ended(r *spans.Span) {
	last, took := c.lastOf(r), int64(r.Duration())
	last.self.Add(int64(r.SelfTime()))
	last.took.Add(took)
	last.count.Add(1)
	if r.Parent() == nil && !last.root.Load() {
		last.root.Store(true)
	}
	if known := c.last.Load(); known != last {
		if known != nil {
			c.several.Store(true)
		}
		c.last.Store(last)
	}
	if last == c {
		return
	}
	c.took.Add(took)
	c.count.Add(1)
	if last.from.Load() == nil {
		last.from.Store(c)
	}
	if c.several.Load() && !last.unforeseen.Load() {
		last.unforeseen.Store(true)
	}
}

// lastOf returns the class of the name that a span has now, which was started as this one.
func (c *class) lastOf(r *spans.Span) *class {
	name := r.Name()
	if name == r.StartName() || c.id == ledger.NoRegion {
		return c
	}
	if last := c.last.Load(); last != nil && last.key.Name == name {
		return last
	}
	return internClass(profile.Region{Scope: c.key.Scope, Name: name})
}

// foreseen returns the class that spans end as which are started as this one, nil if that is not known.
func (c *class) foreseen() *class {
	if c.several.Load() {
		return nil
	}
	return c.last.Load()
}

// mayBeRenamed reports whether spans that are started as this class may end as another.
func (c *class) mayBeRenamed() bool { return c.foreseen() != c }

// begins reports whether spans of this region are begun as first, as far as that is known then: by the name that they have, or by the one
// that all such spans have ended with so far.
func (c *class) begins(first *class) bool {
	return c.id == first.id || !c.unforeseen.Load() && first.foreseen() == c
}

// A usage is what a class has come to.
type usage struct{ self, count, took int64 }

func (c *class) usage() usage { return usage{c.self.Load(), c.count.Load(), c.took.Load()} }

// ran adds to an experiment what a region has done since it had come to before.
func (c *class) ran(e *experiment.Experiment, before usage) {
	now := c.usage()
	e.Ends, e.Took = now.count-before.count, time.Duration(now.took-before.took)
}

func usages() map[*class]usage {
	all := map[*class]usage{}
	for _, c := range allClasses() {
		if c.id == ledger.NoRegion {
			continue
		}
		all[c] = c.usage()
	}
	return all
}

// maxClasses bounds the number of regions that are distinguished.
const maxClasses = 4096

func hashOf(k profile.Region) uint64 {
	return registry.Mix(registry.String(k.Name), registry.String(k.Scope))
}

// classOf returns the class that a region was started as, in a few nanoseconds but for the first time.
func classOf(r *spans.Span) *class {
	if c := live.class.Get(r); c != nil {
		return c
	}
	c := live.regions.Other()
	if live.class.Own(r) {
		c = internClass(profile.Region{Scope: r.Scope().Name, Name: r.StartName()})
	}
	live.class.Set(r, c)
	return c
}

func internClass(key profile.Region) *class {
	if c := live.regions.Get(key); c != nil {
		return c
	}
	return live.regions.Add(key, func(id int) *class { return &class{id: ledger.RegionID(id), key: key} })
}

// allClasses returns them by ID. The slice must not be changed.
func allClasses() []*class { return live.regions.All() }
