package otelhdr

// Percentile returns the value that p percent of the values do not exceed, for p in [0, 100]. A p
// beyond either end is taken as that end, NaN as 0; of an empty snapshot the result is 0.
//
// It is the value of rank max(1, ceil(p/100 × count)) in ascending order, with p lowered by the
// smallest step a float64 can make so that rounding up in the multiplication cannot reach the next
// rank: the rule of HdrHistogram for Java. Percentile(0) is the exact minimum and Percentile(100)
// the exact maximum. Any other result is the middle of the bucket that the rank falls in, or the
// exact extreme if that is nearer, and differs from the value of that rank by at most the relative
// error. A rank that falls below the range gives the minimum, one above it the maximum. Where the
// histogram was made with [WithEquivalent], the result is the lower or the upper bound instead of
// the middle.
//
// Costs a pass over the counters, some 0.1 µs for every 256; [Snapshot.Percentiles] finds many in
// one pass, and [Snapshot.Locate] returns more.
func (s *Snapshot) Percentile(p float64) uint64 {
	var dst [1]uint64
	return s.Percentiles([]float64{p}, dst[:])[0]
}

// Percentiles returns Percentile(p) for every p of ranks, in dst if its capacity suffices, which
// then costs no allocation, and in a new slice otherwise. Ascending ranks cost one pass over the
// buckets; every rank that is smaller than the one before it costs another.
func (s *Snapshot) Percentiles(ranks []float64, dst []uint64) []uint64 {
	if cap(dst) < len(ranks) {
		dst = make([]uint64, len(ranks))
	}
	dst = dst[:len(ranks)]
	if s.count == 0 {
		clear(dst)
		return dst
	}
	w := s.walk()
	for i, p := range ranks {
		rank := s.rank(p)
		if rank <= w.before { // it descends
			w = s.walk()
		}
		w.seek(rank)
		dst[i] = w.value(p, rank)
	}
	return dst
}
