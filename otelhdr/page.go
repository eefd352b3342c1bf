package otelhdr

import (
	"slices"
	"sync/atomic"
	"unsafe"
)

// Counters are allocated in pages of 64 buckets, an eighth of an octave at 0.1 % and one octave at
// 1 %, so that all of a page need about the same number of bits.
const (
	pageScale = 6
	pageSize  = 1 << pageScale
)

// widest is the log2 of the bits of the widest counters; the narrowest have one bit.
const widest = 6

// A page is the counters of consecutive stored buckets, for any number of writers. They lie side by
// side in 64-bit words, 1, 2, 4 … or 64 bits each, as many as the greatest of them needs: from 8
// bytes for 64 buckets that have a value at most, to
// 512. The zero page has none.
//
// Where it is and the log2 of the bits share one word, which is loaded at once: words begin at
// multiples of 8 bytes, and a pointer into the first of them keeps them alive as well as one to its
// beginning.
type page struct{ tagged unsafe.Pointer }

func newPage(width uint8) page {
	return page{tagged: unsafe.Add(unsafe.Pointer(&make([]atomic.Uint64, 1<<width)[0]), width)}
}

func (p page) none() bool { return p.tagged == nil }

// width returns the log2 of the bits of a counter.
func (p page) width() uint64 { return uint64(uintptr(p.tagged)) & 7 }

// place returns the word of counter j, which is below pageSize, and the place of its lowest bit in
// that. It has no branch, so that counters of several widths in one histogram leave the processor
// nothing to guess.
func (p page) place(j uint64) (word *atomic.Uint64, bit uint64) {
	at := j << p.width()
	return (*atomic.Uint64)(unsafe.Add(unsafe.Pointer(uintptr(p.tagged)&^7), at>>6<<3)), at & 63
}

// most returns the greatest number that a counter holds, which is all of its bits.
func (p page) most() uint64 { return ^uint64(0) >> ((64 - 1<<p.width()) & 63) }

// add adds n to counter j and reports true, or reports false where that is more than it holds, and
// has then changed nothing. Of writers that meet in a word one succeeds, and the others try again.
func (p page) add(j, n uint64) bool {
	word, bit := p.place(j)
	most := p.most()
	for {
		old := word.Load()
		if n > most-old>>bit&most {
			return false
		}
		if word.CompareAndSwap(old, old+n<<bit) {
			return true
		}
	}
}

// all returns the words; the zero page has none.
func (p page) all() []atomic.Uint64 {
	if p.none() {
		return nil
	}
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(uintptr(p.tagged)&^7)), 1<<p.width())
}

// addTo adds the counters to those of c.
func (p page) addTo(c *[pageSize]uint64) {
	words := p.all()
	for k := range words {
		p.spread(k, words[k].Load(), func(j, n uint64) { c[j%pageSize] += n })
	}
}

// spread calls f with the counters that word k held and that are not 0.
func (p page) spread(k int, word uint64, f func(j, n uint64)) {
	most, step := p.most(), uint64(1)<<p.width()
	for j := uint64(k) << (widest - p.width()); word != 0; j++ {
		if n := word & most; n != 0 {
			f(j, n)
		}
		word >>= step
	}
}

// close calls f with the counters that are not 0, each once, and leaves them all at the most they
// hold, so that a writer that still has the page adds nothing to it any more. A word is exchanged
// at once: what a writer has put there before is in what f gets, and its compare-and-swap fails
// afterwards.
func (p page) close(f func(j, n uint64)) {
	words := p.all()
	for k := range words {
		p.spread(k, words[k].Swap(^uint64(0)), f)
	}
}

// total returns the sum of the counters.
func (p page) total() (sum uint64) {
	words := p.all()
	for k := range words {
		p.spread(k, words[k].Load(), func(_, n uint64) { sum += n })
	}
	return sum
}

func (p page) sizeBytes() int { return 8 * len(p.all()) }

// widthOf returns the width of the narrowest counter that holds n.
func widthOf(n uint64) uint64 {
	var w uint64
	for w < widest && n>>(1<<w) != 0 {
		w++
	}
	return w
}

// A pageIndex has the pages of a stripe, from the one of the lowest value to that of the highest.
// It does not change: to add a page, or to exchange one for a wider, a writer makes another index
// and exchanges that.
type pageIndex struct {
	first uint64 // place of pages[0]; the first stored bucket is in page 0
	pages []page
	older []olderPage // pages that were exchanged, in that order
}

// An olderPage is one that a wider one has taken the place of. Writers that have found it before
// may still add to it, so what it counts is counted as well, until a reader moves that and closes
// the page.
type olderPage struct {
	page
	place uint64
}

// noPages is the index of every new stripe.
var noPages pageIndex

// page returns the page at a place, which may be none.
func (x *pageIndex) page(place uint64) page {
	if k := place - x.first; k < uint64(len(x.pages)) {
		return x.pages[k]
	}
	return page{}
}

// with returns an index that has a new page at a place, whose counters hold n each.
func (x *pageIndex) with(place, n uint64) *pageIndex {
	first, end := place, place+1
	if len(x.pages) != 0 {
		first, end = min(first, x.first), max(end, x.first+uint64(len(x.pages)))
	}
	y := &pageIndex{first: first, pages: make([]page, end-first), older: x.older}
	if len(x.pages) != 0 {
		copy(y.pages[x.first-first:], x.pages)
	}
	width := widthOf(n)
	if old := y.pages[place-first]; !old.none() {
		width = max(width, old.width()+1)
		y.older = append(slices.Clip(x.older), olderPage{page: old, place: place})
	}
	y.pages[place-first] = newPage(uint8(width))
	return y
}

// without returns an index that lacks the first n older pages.
func (x *pageIndex) without(n int) *pageIndex {
	return &pageIndex{first: x.first, pages: x.pages, older: slices.Clone(x.older[n:])}
}

// each calls f with all pages, older ones too.
func (x *pageIndex) each(f func(place uint64, p page)) {
	for k, p := range x.pages {
		if !p.none() {
			f(x.first+uint64(k), p)
		}
	}
	for _, o := range x.older {
		f(o.place, o.page)
	}
}

// addTo adds the counters of all pages to those of s.
func (x *pageIndex) addTo(s *Snapshot) {
	x.each(func(place uint64, p page) { p.addTo(s.page(place)) })
}

func (x *pageIndex) sizeBytes() int {
	if x == &noPages {
		return 0
	}
	n := int(unsafe.Sizeof(*x)) + cap(x.pages)*int(unsafe.Sizeof(page{})) + cap(x.older)*int(unsafe.Sizeof(olderPage{}))
	x.each(func(_ uint64, p page) { n += p.sizeBytes() })
	return n
}

// page returns the counters of a page's buckets.
func (s *Snapshot) page(place uint64) *[pageSize]uint64 {
	const pages = chunkSize / pageSize
	return (*[pageSize]uint64)(s.chunk(int(place / pages))[place%pages*pageSize:])
}
