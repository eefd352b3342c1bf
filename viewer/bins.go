package viewer

import (
	"math/bits"

	"github.com/otelprof/otelprof/otelhdr"
)

// binBits make four bins of equal width from a power of two to the next.
const binBits = 2

// A binJSON counts the durations in [LowNs, HighNs].
type binJSON struct {
	LowNs  uint64 `json:"low_ns"`
	HighNs uint64 `json:"high_ns"`
	Count  uint64 `json:"count"`
}

// binsOf sums the buckets of a distribution into bins wide enough to draw. A bucket
// belongs to the bin of its lower bound. Empty bins between others are kept, so that the
// bins stand side by side.
func binsOf(s *otelhdr.Snapshot) []binJSON {
	bins := []binJSON{}
	if s == nil {
		return bins
	}
	last := 0
	for b := range s.Buckets() {
		if b.Count == 0 {
			continue
		}
		i := binIndex(b.Low)
		if len(bins) == 0 {
			last = i - 1
		}
		for ; last < i; last++ {
			bins = append(bins, binJSON{LowNs: binLow(last + 1), HighNs: binLow(last+2) - 1})
		}
		bins[len(bins)-1].Count += b.Count
	}
	return bins
}

// binIndex and binLow are the bins' number and its inverse.
func binIndex(v uint64) int { return logIndex(v, binBits) }
func binLow(i int) uint64   { return logLow(i, binBits) }

// logIndex and logLow are a logarithm and its inverse in whole numbers: the octave, and as many
// bits behind the leading one. Values with no more bits than that have a number each.
func logIndex(v uint64, bitsBehind int) int {
	if v < 1<<bitsBehind {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - bitsBehind
	return shift<<bitsBehind + int(v>>shift)
}

func logLow(i, bitsBehind int) uint64 {
	each := 1 << bitsBehind
	if i < 2*each {
		return uint64(i)
	}
	return uint64(each+i%each) << (i/each - 1) // the one past the last wraps to 0
}
