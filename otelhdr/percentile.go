package otelhdr

import "math"

// Percentile returns the value that p percent of the values do not exceed, for p in [0, 100]. A p beyond either end is
// taken as that end, NaN as 0; of an empty snapshot the result is 0.
//
// It is the value of rank max(1, ceil(p/100 × count)) in ascending order, with p lowered by the smallest step a float64
// can make so that rounding up in the multiplication cannot reach the next rank: the rule of HdrHistogram for Java.
// Percentile(0) is the exact minimum and Percentile(100) the exact maximum. Any other result is the middle of the
// bucket that the rank falls in, or the exact extreme if that is nearer, and differs from the value of that rank by at
// most the relative error. A rank that falls below the range gives the minimum, one above it the maximum.
//
// Costs a pass over the buckets, some 5 ns for each that is not empty; [Snapshot.Percentiles] finds many in one pass.
func (s *Snapshot) Percentile(p float64) uint64 {
	var dst [1]uint64
	return s.Percentiles([]float64{p}, dst[:])[0]
}

// Percentiles returns Percentile(p) for every p of ranks, in dst if its capacity suffices, which then costs no
// allocation, and in a new slice otherwise. Ascending ranks cost one pass over the buckets; every rank that is smaller
// than the one before it costs another.
func (s *Snapshot) Percentiles(ranks []float64, dst []uint64) []uint64 {
	if cap(dst) < len(ranks) {
		dst = make([]uint64, len(ranks))
	}
	dst = dst[:len(ranks)]
	clear(dst)
	if s.count == 0 {
		return dst
	}
	for done := 0; done < len(ranks); {
		done += s.ascending(ranks[done:], dst[done:])
	}
	return dst
}

// ascending fills in the results of the leading ranks that do not descend, in one pass, and returns their number, which
// is at least 1. Neither ranks nor the snapshot may be empty.
func (s *Snapshot) ascending(ranks []float64, dst []uint64) int {
	var below uint64 // values before the current bucket
	done, rank := 0, s.rank(ranks[0])
	for v, n := range s.values {
		for rank-below <= n {
			dst[done] = s.at(ranks[done], v)
			if done++; done == len(ranks) {
				return done
			}
			if rank = s.rank(ranks[done]); rank <= below {
				return done
			}
		}
		below += n
	}
	return done
}

// rank returns the rank, in [1, count], of the value that is percentile p.
func (s *Snapshot) rank(p float64) uint64 {
	p = math.Nextafter(p, math.Inf(-1))
	f := math.Ceil(p * float64(s.count) / 100)
	switch {
	case !(f >= 1): // NaN too
		return 1
	case f >= float64(s.count): // which may be rounded up, beyond uint64 even
		return s.count
	default:
		return uint64(f)
	}
}

// at returns percentile p, whose rank falls in a bucket that v stands for.
func (s *Snapshot) at(p float64, v uint64) uint64 {
	switch {
	case p >= 100:
		return s.max
	case !(p > 0):
		return s.min
	default:
		return v
	}
}
