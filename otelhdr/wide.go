package otelhdr

import (
	"cmp"
	"maps"
	"slices"
)

// place counts b where v falls, within the range, and keeps the bounds of b where they exceed those
// of the bucket there.
func (s *Snapshot) place(b Bucket, v uint64) {
	lowest, highest := s.layout.bounds()
	switch i := s.layout.index(v) - s.layout.first; {
	case i < s.layout.size:
		s.widen(i, b)
	case s.layout.under(v) && b.High >= lowest:
		s.reachUp = max(s.reachUp, b.High-lowest+1)
	case !s.layout.under(v) && b.Low <= highest:
		s.reachDown = max(s.reachDown, highest-b.Low+1)
	}
	s.tally(v, b.Count)
}

// widen notes that slot i is about to count values of b as well. What it has already may be
// elsewhere in its bounds.
func (s *Snapshot) widen(i uint64, b Bucket) {
	own := Bucket{Low: s.layout.low(s.layout.first + i), High: s.layout.high(s.layout.first + i)}
	known, wide := s.wide[i]
	if !wide && b.Low >= own.Low && b.High <= own.High {
		return
	}
	if !wide {
		known = own
	}
	if s.counted(i) != 0 {
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
		if b := from.bucket(i); b.Count != 0 {
			s.widen(i, b)
		}
	}
	for i := range maps.Clone(from.wide) {
		if b := from.bucket(i); b.Count != 0 {
			s.widen(i, b)
		}
	}
	s.reachUp, s.reachDown = max(s.reachUp, from.reachUp), max(s.reachDown, from.reachDown)
}

// wideSlots returns the slots of wide in ascending order.
func (s *Snapshot) wideSlots() []uint64 {
	if s.wide == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.wide))
}

// overlaps has the bounds of buckets of which some overlap, the lower and the upper ones each in
// ascending order. The value of a rank is no less than the lower bound of that rank, and no more
// than the upper. It is nil where none overlap.
type overlaps struct{ lows, highs []edge }

// An edge is a bound and how many values have that bound or one before.
type edge struct{ at, upTo uint64 }

func (s *Snapshot) overlaps() *overlaps {
	if s.wide == nil && s.reachUp|s.reachDown == 0 {
		return nil
	}
	var o overlaps
	some := false
	for b := range s.Buckets() {
		some = some || len(o.highs) != 0 && b.Low <= o.highs[len(o.highs)-1].at
		o.lows, o.highs = append(o.lows, edge{b.Low, b.Count}), append(o.highs, edge{b.High, b.Count})
	}
	if !some {
		return nil
	}
	for _, edges := range [...][]edge{o.lows, o.highs} {
		slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
		var sum uint64
		for i := range edges {
			sum += edges[i].upTo
			edges[i].upTo = sum
		}
	}
	return &o
}

// bounds returns what the value of a rank, which is counted in b, lies between.
func (o *overlaps) bounds(rank uint64, b Bucket) Bucket {
	if o == nil {
		return b
	}
	find := func(edges []edge) uint64 {
		i, _ := slices.BinarySearchFunc(edges, rank, func(e edge, rank uint64) int { return cmp.Compare(e.upTo, rank) })
		return edges[i].at
	}
	return Bucket{Low: find(o.lows), High: find(o.highs), Count: b.Count}
}
