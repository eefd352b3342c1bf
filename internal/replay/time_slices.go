package replay

// A goroutine that computes keeps its processor until the runtime's monitor finds that it has had it for 10 ms. The monitor is a
// thread like others: where all processors compute, and other programs do, it comes late, and slices are as long as a fifth of a
// second. What the recording shows is done in the replay, one slice after the other.

const (
	// leastSlice is what a goroutine has its processor for that the monitor takes away, ns; others were stopped for something else.
	leastSlice = 9_000_000
	// leastSlices is how many must have been seen.
	leastSlices = 5
)

// yielded books for how long a goroutine had its processor when it was taken away.
func (b *builder) yielded(g int32, at int64) {
	f := &b.g[g]
	if f.state != running || f.began == 0 {
		return
	}
	if d := at - f.began; d >= leastSlice {
		b.p.slices = append(b.p.slices, d)
	}
}

// slice returns how long the next slice is.
func (s *simulation) slice() int64 {
	all := s.p.slices
	if len(all) < leastSlices {
		return slice
	}
	s.slices++
	return all[s.slices%len(all)]
}
