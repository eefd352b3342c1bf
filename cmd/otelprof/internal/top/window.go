package top

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A topWindow is how far back a table looks; 0 is the start of the program.
type topWindow struct {
	name   string
	length time.Duration
}

// topWindows are in the order in which the key steps through them.
var topWindows = []topWindow{{"10s", 10 * time.Second}, {"1m", time.Minute}, {"start", 0}}

func topWindowNamed(name string) (topWindow, bool) {
	i := slices.IndexFunc(topWindows, func(w topWindow) bool { return w.name == name })
	if i < 0 {
		return topWindow{}, false
	}
	return topWindows[i], true
}

// A topHistory keeps polls, so that there is one to take away from the last one.
type topHistory []topPoll

// add appends a poll and forgets the polls that no window needs. Of old ones those stay that are a
// twentieth of a window apart: some forty in all with any interval, and a window is at most a
// fifteenth and two intervals longer than it should be.
func (h *topHistory) add(p topPoll) {
	if n := len(*h); n > 0 && p.begunAnew((*h)[n-1]) {
		*h = nil
	}
	all := append(*h, p)
	short, long := topWindows[0].length, topWindows[1].length
	for len(all) > 2 && p.at.Sub(all[1].at) >= long {
		all = all[1:]
	}
	recent := short + short/20 + p.at.Sub(all[max(0, len(all)-2)].at) // the short window begins in it
	kept := topHistory{all[0]}
	for i, old := range all[1:] {
		apart := long / 20
		if p.at.Sub(old.at) <= recent {
			apart = short / 20
		}
		// From the oldest on: a poll that stays now is the base of later ones.
		if i >= len(all)-3 || old.at.Sub(kept[len(kept)-1].at) >= apart {
			kept = append(kept, old)
		}
	}
	*h = kept
}

// before is the poll that a window of the last one begins with: the youngest that is old enough, or
// else the oldest; none for a window since the start, and while there is only one poll.
func (h topHistory) before(length time.Duration) topPoll {
	if len(h) < 2 || length == 0 {
		return topPoll{}
	}
	last := h[len(h)-1]
	for i := len(h) - 2; i > 0; i-- {
		if last.at.Sub(h[i].at) >= length {
			return h[i]
		}
	}
	return h[0]
}

// begunAnew reports whether a region has lost spans: the program has been started again.
func (p topPoll) begunAnew(before topPoll) bool {
	now := map[topKey]uint64{}
	for _, r := range p.Regions {
		now[r.topKey] = r.Count
	}
	return slices.ContainsFunc(before.Regions, func(r topRegion) bool { return now[r.topKey] < r.Count })
}

// topBuckets are the buckets of a distribution, the shortest first: the first and the last value,
// and how many.
type topBuckets [][3]uint64

// since returns what has come since an earlier distribution.
func (b topBuckets) since(before topBuckets) topBuckets {
	known := make(map[uint64]uint64, len(before))
	for _, x := range before {
		known[x[0]] = x[2]
	}
	var out topBuckets
	for _, x := range b {
		if n := x[2] - min(x[2], known[x[0]]); n > 0 {
			out = append(out, [3]uint64{x[0], x[1], n})
		}
	}
	return out
}

func (b topBuckets) count() (n uint64) {
	for _, x := range b {
		n += x[2]
	}
	return n
}

// percentile is the middle of the bucket that has it, at most max; 0 without any value.
func (b topBuckets) percentile(p float64, most uint64) uint64 {
	rank := cmp.Or(uint64(math.Ceil(float64(b.count())*p/100)), 1)
	for _, x := range b {
		if rank <= x[2] {
			return min(x[0]+(x[1]-x[0])/2, most)
		}
		rank -= x[2]
	}
	return 0
}

// coarseError bounds the relative error of a window's percentile, whose buckets are 64 to an
// octave.
const coarseError = 1.0 / 128
