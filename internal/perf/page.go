package perf

// userPage is the part that is needed of struct perf_event_mmap_page.
type userPage struct {
	version      uint32
	compat       uint32
	lock         uint32 // goes up whenever the event gets or loses its counter
	index        uint32 // 1 + number of the counter; 0 without one
	offset       int64
	enabled      uint64
	running      uint64
	capabilities uint64
	width        uint16 // bits of the counter
}

// capUserRDPMC is the bit of capabilities that is set if the counter can be read in user
// space.
const capUserRDPMC = 2

// sample is what readPages takes from one page, and the counter that the page names.
type sample struct {
	counter uint64
	offset  int64
	width   uint64
}

// value is the event's count, modulo 2^64. The kernel programs a counter with a negative
// number, so the counter must be extended by its sign: without that the sum is off by
// 2^width whenever the counter has not overflowed yet.
func (s *sample) value() uint64 {
	unused := -s.width & 63 // 64 - width
	return uint64(s.offset + int64(s.counter<<unused)>>unused)
}
