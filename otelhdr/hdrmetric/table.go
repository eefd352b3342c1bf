package hdrmetric

import (
	"hash/maphash"
	"reflect"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
)

// minSlots is the size of a new table: 256 bytes.
const minSlots = 16

// A seriesTable finds the series of a set of attributes. It is open-addressed and at most half
// full. Any number of goroutines may get; for put and keep they hold a lock.
//
// A get takes no lock because a slot is written once. Its key is stored first and its series last,
// atomically, so a get that sees the series sees the key, and a get that does not stops there: the
// keys of a probe sequence are put in its order, and none is removed. To grow, and to lose entries,
// the slots are copied to new ones, and then those are stored, atomically. A get in the old ones
// may miss what was put later, and so a miss proves nothing until it is repeated under the lock; it
// may also find what is gone, see [stream.forget]. On amd64 and arm64 each of the two loads is one
// instruction.
type seriesTable struct {
	slots atomic.Pointer[[]seriesSlot] // 2^n of them
	used  int
}

type seriesSlot struct {
	key    attribute.Distinct // valid if series is not nil
	series atomic.Pointer[series]
}

func newSeriesTable() *seriesTable {
	t := new(seriesTable)
	slots := make([]seriesSlot, minSlots)
	t.slots.Store(&slots)
	return t
}

// get returns the series of key, or nil.
func (t *seriesTable) get(key attribute.Distinct) *series {
	slots := *t.slots.Load()
	mask := uint64(len(slots) - 1)
	for i := hashOf(key); ; i++ {
		slot := &slots[i&mask]
		if x := slot.series.Load(); x == nil || slot.key == key {
			return x
		}
	}
}

// put adds key, which get does not find.
func (t *seriesTable) put(key attribute.Distinct, x *series) {
	slots := *t.slots.Load()
	t.used++
	if 2*t.used <= len(slots) {
		place(slots, key, x)
		return
	}
	larger := make([]seriesSlot, 2*len(slots))
	for i := range slots {
		if y := slots[i].series.Load(); y != nil {
			place(larger, slots[i].key, y)
		}
	}
	place(larger, key, x)
	t.slots.Store(&larger)
}

// keep removes the entries of all series for which wanted is false, by storing a copy without them.
func (t *seriesTable) keep(wanted func(*series) bool) {
	slots := *t.slots.Load()
	fewer := make([]seriesSlot, len(slots))
	t.used = 0
	for i := range slots {
		if x := slots[i].series.Load(); x != nil && wanted(x) {
			place(fewer, slots[i].key, x)
			t.used++
		}
	}
	t.slots.Store(&fewer)
}

func place(slots []seriesSlot, key attribute.Distinct, x *series) {
	mask := uint64(len(slots) - 1)
	i := hashOf(key)
	for slots[i&mask].series.Load() != nil {
		i++
	}
	slots[i&mask].key = key
	slots[i&mask].series.Store(x)
}

var hashSeed = maphash.MakeSeed()

// distinctIsHash reports whether a Distinct is an unsigned integer of 64 bits and nothing else, not
// a pointer or interface.
var distinctIsHash = isHash(reflect.TypeFor[attribute.Distinct]())

func isHash(t reflect.Type) bool {
	for t.Kind() == reflect.Struct && t.NumField() == 1 {
		t = t.Field(0).Type
	}
	return t.Kind() == reflect.Uint64
}

// hashOf returns a hash of key. A Distinct is the 64-bit hash of a set's attributes and nothing
// else, which saves hashing it again, 10 ns; should it ever become something else, it is hashed.
func hashOf(key attribute.Distinct) uint64 {
	if distinctIsHash {
		return *(*uint64)(unsafe.Pointer(&key))
	}
	return maphash.Comparable(hashSeed, key)
}
