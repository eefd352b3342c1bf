package ledger

import (
	"errors"
	"fmt"
	"sync/atomic"
)

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

// A Setting is the hypothesis of some time, or none, the same for all ledgers. Ledgers and
// stamps of one setting mean nothing in the next: each ledger begins anew, with no credit,
// when it first sees another setting.
type Setting struct {
	serial    uint64   // rises from one setting to the next
	region    RegionID // NoRegion for no hypothesis
	speedup   float64
	growth    *Growth // nil if there is no hypothesis
	latencies []place // by progress point
	counts    counts
}

// nothing is the setting of a ledger that has seen none, or has been given up.
var nothing = &Setting{region: NoRegion}

// NewSetting returns a setting without a hypothesis, in which no ledger saves or owes anything. It
// has so many progress points.
func NewSetting(points int) *Setting {
	return &Setting{serial: serials.Add(1), region: NoRegion, latencies: make([]place, points)}
}

// NewPaidSetting returns a setting in which all goroutines but those that run the region are to be
// delayed by what the region's would save.
func NewPaidSetting(h Hypothesis, points int) (*Setting, error) {
	if h.Region < 0 || !(h.Speedup >= 0 && h.Speedup <= 1) {
		return nil, fmt.Errorf("%w: region %d, speed-up %g: must be at least 0, and in [0, 1]", errSetting, h.Region, h.Speedup)
	}
	s := NewSetting(points)
	s.region, s.speedup, s.growth = h.Region, h.Speedup, newGrowth(h.Speedup)
	return s, nil
}

// Growth returns what goroutines owe, nil if debts are not paid.
func (s *Setting) Growth() *Growth { return s.growth }

// Points returns the number of progress points.
func (s *Setting) Points() int { return len(s.latencies) }

// about reports whether the hypothesis is about the region.
func (s *Setting) about(id RegionID) bool { return id >= 0 && id == s.region }

// Lose counts what could not be booked.
func (s *Setting) Lose() { s.counts.lost.Add(1) }

// counts are what a setting learns about its own quality.
type counts struct {
	unattributed, attributed atomic.Int64
	lost                     atomic.Int64
	owed, paid, pays, left   atomic.Int64
}

// Counts is how far a setting's figures can be trusted.
type Counts struct {
	// Unattributed is the time that goroutines waited for others in this process whose virtual time
	// is not known, Attributed that of waits with a stamp, ns.
	Unattributed, Attributed int64
	// Lost is how often something was not booked since there was no room for it, or no longer: a
	// goroutine without a ledger, or a span of the region that was given up.
	Lost int64
	// Owed is what was paid for, and Paid the delays that were inserted, which are a little longer,
	// ns. Left is the sum of the debts that goroutines still had when they had paid what they
	// could, Pays how often that was.
	Owed, Paid, Left, Pays int64
}

// Counts returns the counts so far.
func (s *Setting) Counts() Counts {
	c := &s.counts
	return Counts{
		Unattributed: c.unattributed.Load(), Attributed: c.attributed.Load(), Lost: c.lost.Load(),
		Owed: c.owed.Load(), Paid: c.paid.Load(), Left: c.left.Load(), Pays: c.pays.Load(),
	}
}
