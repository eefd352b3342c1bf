//go:build otelprof_procpin

package otelhdr

import (
	"sync/atomic"
	_ "unsafe" // for go:linkname
)

// The runtime keeps these two for the packages that are known to link to them, and may take them
// away; hence the build tag.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()

const procPinned = true

// processors has the counters of each processor, by its index.
type processors struct{ pinned atomic.Pointer[[]*solo] }

// recordPinned adds v n times to the counters of the processor that runs the goroutine. While the
// goroutine is pinned nothing else runs on that processor, so they have one writer at a time.
func (c *Concurrent) recordPinned(v, n uint64) {
	p := procPin()
	list := c.pinned.Load()
	for list == nil || p >= len(*list) {
		procUnpin()
		c.addPinned()
		p = procPin()
		list = c.pinned.Load()
	}
	(*list)[p].record(&c.layout, v, n)
	procUnpin()
}

// addPinned adds counters for one more processor. Each has an index below GOMAXPROCS, so a few
// calls are enough.
func (c *Concurrent) addPinned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*solo
	if old := c.pinned.Load(); old != nil {
		list = append(list, *old...)
	}
	list = append(list, c.newOwned())
	c.pinned.Store(&list)
}
