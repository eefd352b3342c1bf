package experiment

import (
	"math"
	"sync/atomic"
)

// MostPaths is how many paths to one progress point are distinguished. The last stands for all
// further ones.
const MostPaths = 6

// Paths are how a progress point is visited: by causal.Progress, number 0, or by the ends of spans
// of one scope and one pair of names. What comes on different paths may be different work, and then
// the time for one visit means something else where the paths have other shares.
type Paths struct {
	Known  []string // by number
	Visits [MostPaths]atomic.Uint32
}

// Number returns the number of a path, a new one if the path is not known. The run's lock is held.
func (p *Paths) Number(name string) int {
	for i, k := range p.Known {
		if k == name {
			return i
		}
	}
	if len(p.Known) == MostPaths {
		return MostPaths - 1
	}
	p.Known = append(p.Known, name)
	return len(p.Known) - 1
}

// Counts are the visits by path.
func (p *Paths) Counts() (c [MostPaths]uint32) {
	for i := range c {
		c[i] = p.Visits[i].Load()
	}
	return c
}

// A PathSum is what came on each path.
type PathSum [MostPaths]float64

// Add adds visits by path.
func (s *PathSum) Add(c [MostPaths]uint32) {
	for i, n := range c {
		s[i] += float64(n)
	}
}

func (s PathSum) visits() (n float64) {
	for _, v := range s {
		n += v
	}
	return n
}

// mostOnOtherPath is the share of visits that may come on another path than without delay.
const mostOnOtherPath = 0.05

// Strays returns the share of visits that came on another path than without delay, 0 if that may be
// chance.
func (s PathSum) Strays(base PathSum) float64 {
	n, m := s.visits(), base.visits()
	if n == 0 || m == 0 {
		return 0
	}
	apart := 0.
	for i := range s {
		apart += math.Abs(s[i]/n-base[i]/m) / 2
	}
	if chance := 1/math.Sqrt(n) + 1/math.Sqrt(m); apart < mostOnOtherPath+chance {
		return 0
	}
	return apart
}
