package otelhdr

import "maps"

// place counts b where v falls, within the range, and keeps the bounds of b where they exceed those of the bucket there.
func (s *Snapshot) place(b Bucket, v uint64) {
	if i := s.layout.index(v) - s.layout.first; i < s.layout.size {
		s.widen(i, b)
	}
	s.tally(v, b.Count)
}

// widen notes that slot i is about to count values of b as well. What it has already may be elsewhere in its bounds.
func (s *Snapshot) widen(i uint64, b Bucket) {
	own := Bucket{Low: s.layout.low(s.layout.first + i), High: s.layout.high(s.layout.first + i)}
	known, wide := s.wide[i]
	if !wide && b.Low >= own.Low && b.High <= own.High {
		return
	}
	if !wide {
		known = own
	}
	if c := s.chunks[i>>chunkScale]; wide || c != nil && c[i%chunkSize] != 0 {
		b.Low, b.High = min(b.Low, known.Low), max(b.High, known.High)
	}
	if s.wide == nil {
		s.wide = make(map[uint64]Bucket)
	}
	s.wide[i] = Bucket{Low: b.Low, High: b.High}
}

// widenAll notes the bounds of from, of the same layout, before its counts are added.
func (s *Snapshot) widenAll(from *Snapshot) {
	for i := range maps.Clone(s.wide) {
		if c := from.chunks[i>>chunkScale]; c != nil && c[i%chunkSize] != 0 {
			s.widen(i, from.bucket(int(i>>chunkScale), int(i%chunkSize)))
		}
	}
	for i, b := range maps.Clone(from.wide) {
		s.widen(i, b)
	}
}
