package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// Width is the number of hypotheses that can be carried at once.
const Width = 16

// A RegionID stands for a region, one (scope, span name), as long as the program runs.
// NoRegion stands for all those that no hypothesis will ever be about.
type RegionID int32

// NoRegion is the ID of a region that does not matter.
const NoRegion RegionID = -1

// A Hypothesis is the question what would be if a region took 1-Speedup of its time.
type Hypothesis struct {
	Region  RegionID
	Speedup float64 // in [0, 1]
}

var errSetting = errors.New("ledger: setting")

var serials atomic.Uint64

// A Setting is a set of hypotheses during some time, the same for all ledgers. Ledgers and
// stamps of one setting mean nothing in the next: each ledger begins anew, with no credit,
// when it first sees another setting.
type Setting struct {
	serial     uint64 // rises from one setting to the next
	hypotheses []Hypothesis
	n          int
	speedups   [Width]float64
	// A region is an index here, in the order of the IDs; its hypotheses are from[i] to
	// to[i]. index is by ID, and shorter than the highest one.
	from, to [Width]int
	index    []int8

	growth *Growth // nil if nobody pays

	latencies []place // by progress point
	visits    atomic.Pointer[visits]
	lines     atomic.Int64

	wakes  wakes
	counts counts
}

// NewSetting returns a setting with these hypotheses, at most [Width], in which progress is
// counted at so many points.
func NewSetting(hypotheses []Hypothesis, points int) (*Setting, error) {
	s := &Setting{
		serial:     serials.Add(1),
		hypotheses: slices.Clone(hypotheses),
		n:          len(hypotheses),
		latencies:  make([]place, points),
	}
	if s.n > Width {
		return nil, fmt.Errorf("%w: %d hypotheses: must be at most %d", errSetting, s.n, Width)
	}
	slices.SortStableFunc(s.hypotheses, func(a, b Hypothesis) int { return cmp.Compare(a.Region, b.Region) })
	regions := 0
	for k, h := range s.hypotheses {
		if h.Region < 0 || !(h.Speedup >= 0 && h.Speedup <= 1) {
			return nil, fmt.Errorf("%w: region %d, speed-up %g: must be at least 0, and in [0, 1]", errSetting, h.Region, h.Speedup)
		}
		s.speedups[k] = h.Speedup
		if k == 0 || h.Region != s.hypotheses[k-1].Region {
			for len(s.index) <= int(h.Region) {
				s.index = append(s.index, -1)
			}
			s.index[h.Region] = int8(regions)
			s.from[regions] = k
			regions++
		}
		s.to[regions-1] = k + 1
	}
	return s, nil
}

// NewPaidSetting returns a setting with one hypothesis, in which all goroutines but those
// that run the region are to be delayed by what the region's would save.
func NewPaidSetting(h Hypothesis, points int) (*Setting, error) {
	s, err := NewSetting([]Hypothesis{h}, points)
	if err != nil {
		return nil, err
	}
	s.growth = newGrowth(h.Speedup)
	return s, nil
}

// Hypotheses returns those of the setting, in the order of all vectors. They must not be changed.
func (s *Setting) Hypotheses() []Hypothesis { return s.hypotheses }

// Growth returns what goroutines owe, nil if nobody pays.
func (s *Setting) Growth() *Growth { return s.growth }

// regions returns the set that holds the region, or none.
func (s *Setting) regions(id RegionID) set {
	if id < 0 || int(id) >= len(s.index) || s.index[id] < 0 {
		return 0
	}
	return 1 << s.index[id]
}

// set is a set of a setting's regions, by index.
type set uint16

// counts are what a setting learns about its own quality.
type counts struct {
	unattributed, attributed, implied atomic.Int64
	implications                      atomic.Int64
	foreign, crowded                  atomic.Int64
	owed, paid, carried               atomic.Int64
	pays, left                        atomic.Int64
}

// Counts tells how far a setting's figures can be trusted.
type Counts struct {
	// Unattributed is the time that goroutines waited for somebody in this process of whom
	// no virtual time is known, Attributed that of waits with a stamp, ns.
	Unattributed, Attributed int64
	// Implied is the part of Attributed that is guessed from the spans: a parent is taken
	// to have waited for its children on other goroutines. Implications is how often.
	Implied, Implications int64
	// Foreign is the number of spans that ended on another goroutine.
	Foreign int64
	// Crowded is the number of visits that are not in [Setting.Progress], which has no room left.
	Crowded int64
	// Owed is what was paid for, and Paid the delays that were inserted, which are a little longer, ns. Carried is how often a
	// debt was left for later. Left is the sum of the debts that goroutines still had when they
	// had paid what they could, Pays how often that was.
	Owed, Paid, Carried int64
	Left, Pays          int64
}

// Counts returns the counts so far.
func (s *Setting) Counts() Counts {
	c := &s.counts
	return Counts{
		Unattributed: c.unattributed.Load(), Attributed: c.attributed.Load(),
		Implied: c.implied.Load(), Implications: c.implications.Load(),
		Foreign: c.foreign.Load(), Crowded: c.crowded.Load(),
		Owed: c.owed.Load(), Paid: c.paid.Load(), Carried: c.carried.Load(),
		Left: c.left.Load(), Pays: c.pays.Load(),
	}
}
