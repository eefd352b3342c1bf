package spans

import (
	"sync/atomic"
	"unsafe"
)

// constantNames has regions of one tracer by where their names are in memory. Nearly all names are
// constants of the program and so always at the same place, which is found sooner than a text is
// hashed. A place belongs to the first name that comes to it; those that meet there, or are put
// together for each span, are looked for in the registry.
type constantNames [constantPlaces]atomic.Pointer[regionStats]

const (
	constantPlaces = 1 << constantBits
	constantBits   = 7
)

func (c *constantNames) place(name string) *atomic.Pointer[regionStats] {
	const mixed = 0x9e3779b97f4a7c15
	return &c[uint64(uintptr(unsafe.Pointer(unsafe.StringData(name))))*mixed>>(64-constantBits)]
}

// statsOfStart returns the statistics of the name that a span is started with, nil if it is new.
func (t *tracer) statsOfStart(name string) *regionStats {
	place := t.constants.place(name)
	known := place.Load()
	if known != nil && known.name == name {
		return known
	}
	s := t.provider.regions.Get(regionName{t, name})
	if known == nil && s != nil && s.overflow == nil && unsafe.StringData(s.name) == unsafe.StringData(name) {
		place.Store(s)
	}
	return s
}
