package causal

import (
	"math"
	"sync/atomic"
)

// mostPaths is how many paths to one progress point are distinguished. The last stands for all further ones.
const mostPaths = 6

// A path is how a progress point is visited: by [Progress], number 0, or by the ends of spans of one scope and one pair of names. What
// comes on different paths may be different work, and then the time for one visit means something else where the paths have
// other shares.
type paths struct {
	known  []string // by number
	visits [mostPaths]atomic.Uint32
}

// number returns the number of a path, a new one if the path is not known. The run's lock is held.
func (p *paths) number(name string) int {
	for i, k := range p.known {
		if k == name {
			return i
		}
	}
	if len(p.known) == mostPaths {
		return mostPaths - 1
	}
	p.known = append(p.known, name)
	return len(p.known) - 1
}

func (p *paths) counts() (c [mostPaths]uint32) {
	for i := range c {
		c[i] = p.visits[i].Load()
	}
	return c
}

// A pathSum is what came on each path.
type pathSum [mostPaths]float64

func (s *pathSum) add(c [mostPaths]uint32) {
	for i, n := range c {
		s[i] += float64(n)
	}
}

func (s pathSum) visits() (n float64) {
	for _, v := range s {
		n += v
	}
	return n
}

// mostOnOtherPath is the share of visits that may come on another path than without delay.
const mostOnOtherPath = 0.05

// strays returns the share of visits that came on another path than without delay, 0 if that may be chance.
func (s pathSum) strays(base pathSum) float64 {
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
