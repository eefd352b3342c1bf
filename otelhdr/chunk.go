package otelhdr

import "sync/atomic"

// Buckets are taken in chunks of one fixed number, so that the place of a counter needs no division
// and no bounds check, and so that the memory of a histogram follows the values it sees: at 0.1 % a
// chunk is half an octave.
const (
	chunkScale = 8
	chunkSize  = 1 << chunkScale
)

// A chunk is the counters of consecutive stored buckets.
type chunk [chunkSize]uint64

// total returns the sum of the counters; a nil chunk has none.
func (c *chunk) total() uint64 {
	if c == nil {
		return 0
	}
	// Four sums keep the processor's adders busy; one would have each addition wait for the one
	// before.
	var a, b, d, e uint64
	for k := c[:]; len(k) >= 8; k = k[8:] {
		a += k[0] + k[4]
		b += k[1] + k[5]
		d += k[2] + k[6]
		e += k[3] + k[7]
	}
	return a + b + d + e
}

// first returns the place of the first counter that is not 0, of a chunk that has one.
func (c *chunk) first() int {
	i := 0
	for c[i] == 0 {
		i++
	}
	return i
}

// last returns the place of the last counter that is not 0, of a chunk that has one.
func (c *chunk) last() int {
	i := chunkSize - 1
	for c[i] == 0 {
		i--
	}
	return i
}

// chunks returns the number of chunks that hold the stored buckets.
func (l *layout) chunks() int { return int((l.size + chunkSize - 1) >> chunkScale) }

// A chunk32 is a chunk as [WithCounter32] has it.
type chunk32 [chunkSize]uint32

// addTo adds the counters to those of to.
func (c *chunk32) addTo(to *chunk) {
	for i, n := range c {
		to[i] += uint64(n)
	}
}

// lastEra is the number of eras begun in this process.
var lastEra atomic.Uint64

// newEra returns a number that no other histogram has had. A histogram begins an era when it is
// created and when it is reset; its counters only grow within one, so two snapshots of one era can
// be subtracted.
func newEra() uint64 { return lastEra.Add(1) }
