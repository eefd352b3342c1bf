package perf

import "sync/atomic"

// A ring is the memory into which the kernel writes records, and out of which one goroutine reads
// them. Head and tail only ever grow; modulo the size they are places in data.
type ring struct {
	head, tail *uint64
	data       []byte // its length is a power of two
	wrapped    []byte // a copy of a record of which the ring has the end at its beginning
}

// drain calls each for the records written so far. They are valid during the call only. It reports
// false if what the ring holds is no record; then all that has been written is skipped.
//
// The kernel writes the records, then data_head; so data_head must be read before they are. It
// takes all up to data_tail as free, so that must be written after they are read, or it could
// overwrite what is still being read. Go's atomics are sequentially consistent, which is more than
// the acquire and the release that perf_event_mmap_page asks for.
func (r *ring) drain(each func(record []byte)) bool {
	head, tail := atomic.LoadUint64(r.head), *r.tail // the tail is ours alone
	mask := uint64(len(r.data) - 1)
	if head-tail > uint64(len(r.data)) {
		atomic.StoreUint64(r.tail, head)
		return false
	}
	whole := true
	for tail != head {
		at := tail & mask
		// Records begin at multiples of 8, so a header is never wrapped.
		size := uint64(headerOf(r.data[at:]).size)
		if size < recordHeaderSize || size%8 != 0 || size > head-tail {
			whole, tail = false, head
			break
		}
		each(r.record(at, size))
		tail += size
	}
	atomic.StoreUint64(r.tail, tail)
	return whole
}

// record returns the bytes from at on in one piece.
func (r *ring) record(at, size uint64) []byte {
	if first := uint64(len(r.data)) - at; size > first {
		r.wrapped = append(append(r.wrapped[:0], r.data[at:]...), r.data[:size-first]...)
		return r.wrapped
	}
	return r.data[at : at+size]
}
