package otelhdr

import "maps"

// A Packed is a snapshot for keeping: its counters have as few bits as the greatest of their page
// needs, and pages that hold nothing take nothing. The zero Packed is empty. It is not safe for
// concurrent use.
type Packed struct {
	rest  Snapshot // all but the counters
	index pageIndex
}

// Set makes k a copy of s. It allocates where a page has values for the first time or has outgrown
// its counters.
func (k *Packed) Set(s *Snapshot) {
	if k.rest.layout != s.layout {
		k.index = pageIndex{}
	}
	k.rest = *s
	k.rest.chunks, k.rest.totals, k.rest.spare = nil, nil, nil
	k.rest.wide = maps.Clone(s.wide)
	for i, c := range s.chunks {
		for j := range uint64(chunkSize / pageSize) {
			place := uint64(i)*(chunkSize/pageSize) + j
			if c == nil {
				k.setPage(place, &[pageSize]uint64{})
			} else {
				k.setPage(place, (*[pageSize]uint64)(c[j*pageSize:]))
			}
		}
	}
}

// setPage makes the counters of a page those of from.
func (k *Packed) setPage(place uint64, from *[pageSize]uint64) {
	var all uint64 // as wide as the greatest counter
	for _, n := range from {
		all |= n
	}
	p := k.index.page(place)
	switch {
	case p.none() && all == 0:
		return
	case p.none() || p.width() < widthOf(all):
		k.index = *k.index.with(place, all)
		k.index.older = nil
		p = k.index.page(place)
	}
	p.fill(from)
}

// Snapshot writes what k has to dst, which it returns. A nil dst is allocated; otherwise it
// allocates nothing where dst has had as much.
func (k *Packed) Snapshot(dst *Snapshot) *Snapshot {
	dst = dst.prepare(k.rest.layout, 0, k.rest.equivalent)
	k.index.addTo(dst)
	chunks, totals, spare := dst.chunks, dst.totals, dst.spare
	*dst = k.rest
	dst.chunks, dst.totals, dst.spare, dst.wide = chunks, totals, spare, maps.Clone(k.rest.wide)
	return dst
}

// Until returns what was recorded from the snapshot that k keeps until s, as [Snapshot.Since] has
// it, in dst, and has k keep s if that is something. Without a count a delta makes no data point,
// so what a record that is under way has added to the sum stays for the next. A nil dst is
// allocated; otherwise it allocates what Set does.
func (k *Packed) Until(s, dst *Snapshot) *Snapshot {
	dst = dst.prepare(s.layout, 0, s.equivalent)
	if k.rest.layout == s.layout {
		k.Snapshot(dst)
	}
	dst = s.Since(dst, dst)
	if dst.count != 0 {
		k.Set(s)
	}
	return dst
}

// fill sets all counters to those of c, which they are wide enough for. Nothing else has the page.
func (p page) fill(c *[pageSize]uint64) {
	words, step := p.all(), uint64(1)<<p.width()
	perWord := 1 << (widest - p.width())
	for k := range words {
		var word uint64
		for j := perWord - 1; j >= 0; j-- {
			word = word<<step | c[(k*perWord+j)%pageSize] // a shift by 64 leaves nothing, as it should
		}
		words[k].Store(word)
	}
}
