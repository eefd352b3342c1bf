package otelhdr

import "math"

// A Percentile is what a snapshot knows about one percentile. The zero Percentile is that of an
// empty snapshot.
type Percentile struct {
	Percent float64 // as asked for, or the part of the values that the bucket ends with; in [0, 100]
	Rank    uint64  // place, from 1, of its value in ascending order; 0 if there are no values
	Value   uint64  // what Snapshot.Percentile returns
	Error   uint64  // how far Value may be from the value of that rank
	Bucket  Bucket  // where the rank falls; what its value lies between where buckets overlap
	Slot    int     // place of the bucket among those stored; -1 for the values out of range
	Index   int     // place of the bucket in the layout, from that of the value 0; -1 for the values out of range
}

// Locate returns percentile p with all that is known about it. [Snapshot.LocateAll] finds many in
// one pass.
func (s *Snapshot) Locate(p float64) Percentile {
	var dst [1]Percentile
	return s.LocateAll([]float64{p}, dst[:])[0]
}

// LocateAll returns Locate(p) for every p of ranks, in dst if its capacity suffices, which then
// costs no allocation, and in a new slice otherwise.
func (s *Snapshot) LocateAll(ranks []float64, dst []Percentile) []Percentile {
	if cap(dst) < len(ranks) {
		dst = make([]Percentile, len(ranks))
	}
	dst = dst[:len(ranks)]
	w := s.walk()
	for i, p := range ranks {
		dst[i] = Percentile{Percent: p}
		if s.count == 0 {
			continue
		}
		rank := s.rank(p)
		if rank <= w.before { // it descends
			w = s.walk()
		}
		w.seek(rank)
		dst[i] = w.percentile(p, rank)
	}
	return dst
}

// A walk finds ranks in ascending order in one pass over the counters. It passes over whole chunks
// by their totals.
type walk struct {
	s      *Snapshot
	chunk  int    // -1 for the values below the range, the number of chunks for those above
	counts *chunk // of that chunk
	slot   int    // counter in the chunk
	before uint64 // values before the counter
	end    uint64 // values up to the end of the chunk

	overlaps *overlaps
}

func (s *Snapshot) walk() walk {
	return walk{s: s, chunk: -1, end: s.underflow, overlaps: s.overlaps()}
}

// seek goes to the counter that rank falls in. The rank is in [1, count] and no less than the one
// before.
func (w *walk) seek(rank uint64) {
	for rank > w.end {
		w.enter(w.next())
	}
	if w.counts == nil {
		return
	}
	// The counters up to the end of the chunk add up to more, so this ends within it.
	before, slot := w.before, w.slot
	for slot <= chunkSize-8 {
		k := (*[8]uint64)(w.counts[slot:])
		n := k[0] + k[1] + k[2] + k[3] + k[4] + k[5] + k[6] + k[7]
		if rank-before <= n {
			break
		}
		before += n
		slot += 8
	}
	for n := w.counts[slot%chunkSize]; rank-before > n; n = w.counts[slot%chunkSize] {
		before += n
		slot++
	}
	w.before, w.slot = before, slot
}

// next returns the number of values in the chunk that follows.
func (w *walk) next() uint64 {
	if w.chunk+1 < len(w.s.chunks) {
		return w.s.total(w.chunk + 1)
	}
	return w.s.overflow
}

// enter goes to the beginning of the chunk that follows, with n values.
func (w *walk) enter(n uint64) {
	w.chunk++
	w.counts, w.slot = nil, 0
	if w.chunk < len(w.s.chunks) {
		w.counts = w.s.chunks[w.chunk]
	}
	w.before = w.end
	w.end += n
}

// bucket returns what the value of rank, which falls in the counter, lies between: the bucket of
// the counter, unless others reach into it. Out of range it reaches as far as the values do.
func (w *walk) bucket(rank uint64) Bucket {
	var b Bucket
	switch {
	case w.chunk < 0:
		b = w.s.below()
	case w.chunk == len(w.s.chunks):
		b = w.s.above()
	default:
		b = w.s.bucket(w.place())
	}
	return w.overlaps.bounds(rank, b)
}

// place returns the slot of the counter, which is in range.
func (w *walk) place() uint64 { return uint64(w.chunk)<<chunkScale + uint64(w.slot) }

// value returns percentile p, whose rank falls in the counter.
func (w *walk) value(p float64, rank uint64) uint64 {
	s := w.s
	switch {
	case p >= 100 || w.chunk == len(s.chunks) && w.overlaps == nil:
		return s.max
	case !(p > 0) || w.chunk < 0 && w.overlaps == nil:
		return s.min
	default:
		return min(max(w.bucket(rank).Equivalent(s.equivalent), s.min), s.max)
	}
}

// percentile returns percentile p, whose rank falls in the counter.
func (w *walk) percentile(p float64, rank uint64) Percentile {
	b := w.bucket(rank)
	r := Percentile{Percent: p, Rank: rank, Value: w.value(p, rank), Bucket: b, Slot: -1, Index: -1}
	if w.counts != nil {
		r.Slot = int(w.place())
		r.Index = int(w.s.layout.first) + r.Slot
	}
	if extreme := rank == 1 && r.Value == w.s.min || rank == w.s.count && r.Value == w.s.max; !extreme || w.s.approximate {
		// An extreme of buckets that came from elsewhere may lie outside the bucket that counts it.
		r.Error = max(distance(r.Value, b.Low), distance(r.Value, b.High))
	}
	return r
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

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
