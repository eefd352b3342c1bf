package causal

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/spans"
)

// A class is what all spans of one region have in common, the region being known by its scope
// and by the name that its spans are started with.
type class struct {
	id    ledger.RegionID // ledger.NoRegion once there are too many
	key   RegionKey
	self  atomic.Int64 // time in which no child was open, ns
	count atomic.Int64
	root  atomic.Bool // it has been a local root
}

// ended books the end of a span.
func (c *class) ended(r *spans.Region) {
	c.self.Add(int64(r.SelfTime()))
	c.count.Add(1)
	if r.Parent() == nil && !c.root.Load() {
		c.root.Store(true)
	}
}

// A usage is what a class has come to.
type usage struct{ self, count int64 }

func usages() map[*class]usage {
	all := map[*class]usage{}
	for _, c := range allClasses() {
		all[c] = usage{c.self.Load(), c.count.Load()}
	}
	return all
}

// maxClasses bounds the number of regions that are told apart.
const maxClasses = 4096

// classes are the regions of the program. They are never removed.
var classes struct {
	slot spans.NameSlot[class]
	mu   sync.Mutex
	all  atomic.Pointer[[]*class] // by ID; grows, replaced when it does
	of   map[RegionKey]*class
}

func init() { classes.slot = spans.NewNameSlot[class]() }

// classOf returns the class of a region, in a few nanoseconds but for the first time.
func classOf(r *spans.Region) *class {
	if c := classes.slot.Get(r); c != nil {
		return c
	}
	c := internClass(RegionKey{Scope: r.Scope().Name, Span: r.Name()})
	classes.slot.Set(r, c)
	return c
}

func internClass(key RegionKey) *class {
	classes.mu.Lock()
	defer classes.mu.Unlock()
	if c := classes.of[key]; c != nil {
		return c
	}
	all := allClasses()
	if len(all) == maxClasses {
		return &class{id: ledger.NoRegion, key: key}
	}
	c := &class{id: ledger.RegionID(len(all)), key: key}
	if classes.of == nil {
		classes.of = map[RegionKey]*class{}
	}
	classes.of[key] = c
	grown := append(slices.Clip(all), c)
	classes.all.Store(&grown)
	return c
}

// allClasses returns them by ID. The slice must not be changed.
func allClasses() []*class {
	if p := classes.all.Load(); p != nil {
		return *p
	}
	return nil
}
