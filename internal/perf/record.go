package perf

import "encoding/binary"

// Records that are read, and what is needed of their headers. See enum perf_event_type and struct
// perf_event_header in linux/perf_event.h.
const (
	recordLost        = 2
	recordThrottle    = 5
	recordSample      = 9
	recordLostSamples = 13

	miscModeMask = 7
	miscKernel   = 1

	recordHeaderSize = 8
	// recordMaxSize is the most that the 16 bits of the size can say.
	recordMaxSize = 1<<16 - 1
)

// Entries of a call chain from contextMax on are no addresses: they say of what mode those behind
// them are.
const (
	contextMax  = ^uint64(4095) + 1 // PERF_CONTEXT_MAX, -4095
	contextUser = ^uint64(512) + 1  // PERF_CONTEXT_USER, -512
)

// A recordHeader begins each record.
type recordHeader struct {
	kind uint32
	misc uint16
	size uint16 // of the whole record, a multiple of 8
}

func headerOf(data []byte) recordHeader {
	return recordHeader{
		kind: binary.NativeEndian.Uint32(data),
		misc: binary.NativeEndian.Uint16(data[4:]),
		size: binary.NativeEndian.Uint16(data[6:]),
	}
}

// A recordParser counts records and makes samples of them.
type recordParser struct {
	process int
	counts  SampleCounts
	sample  Sample
}

// parse takes one whole record, header included. It calls each for a sample of the process.
func (p *recordParser) parse(record []byte, each func(*Sample)) {
	if len(record) < recordHeaderSize {
		p.counts.Malformed++
		return
	}
	h, body := headerOf(record), record[recordHeaderSize:]
	switch h.kind {
	case recordSample:
		p.parseSample(h, body, each)
	case recordLost: // the event's id, the number
		p.addLost(body, 8)
	case recordLostSamples: // the number
		p.addLost(body, 0)
	case recordThrottle:
		p.counts.Throttled++
	default: // of the end of throttling, and of what newer kernels add
	}
}

func (p *recordParser) addLost(body []byte, at int) {
	if len(body) < at+8 {
		p.counts.Malformed++
		return
	}
	p.counts.Lost += binary.NativeEndian.Uint64(body[at:])
}

// stackBytes is how much of the stack is copied into each sample, for [Sample.Top].
const stackBytes = 16

// parseSample reads the body of PERF_SAMPLE_IP | TID | TIME | CALLCHAIN | STACK_USER, the last
// field of which is how many of the bytes before it could be read:
//
//	u64 ip; u32 pid, tid; u64 time; u64 nr; u64 ips[nr]; u64 size; char data[size]; u64 dyn_size
func (p *recordParser) parseSample(h recordHeader, body []byte, each func(*Sample)) {
	const fixed = 4 * 8
	if len(body) < fixed {
		p.counts.Malformed++
		return
	}
	ip := binary.NativeEndian.Uint64(body)
	process := binary.NativeEndian.Uint32(body[8:])
	length := binary.NativeEndian.Uint64(body[24:])
	chain := body[fixed:]
	if length > uint64(len(chain)/8) {
		p.counts.Malformed++
		return
	}
	if int(process) != p.process {
		p.counts.Foreign++
		return
	}
	s := &p.sample
	s.Thread = int(binary.NativeEndian.Uint32(body[12:]))
	s.Time = binary.NativeEndian.Uint64(body[16:])
	s.Kernel = h.misc&miscModeMask == miscKernel
	s.Stack = s.Stack[:0]
	user := false
	for range length {
		pc := binary.NativeEndian.Uint64(chain)
		chain = chain[8:]
		switch {
		case pc >= contextMax:
			user = pc == contextUser
		case user:
			s.Stack = append(s.Stack, pc)
		}
	}
	s.Top = [2]uint64{}
	const top = 8 + stackBytes + 8
	if len(chain) >= top && binary.NativeEndian.Uint64(chain) == stackBytes && binary.NativeEndian.Uint64(chain[8+stackBytes:]) == stackBytes {
		s.Top = [2]uint64{binary.NativeEndian.Uint64(chain[8:]), binary.NativeEndian.Uint64(chain[16:])}
	}
	if len(s.Stack) == 0 && !s.Kernel {
		s.Stack = append(s.Stack, ip) // no frame pointer to begin with
	}
	p.counts.Samples++
	each(s)
}
