package experiment

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/causal/plan"
)

// Epochs is the schedule of a plan by the clock. What is done in an epoch follows from the plan and
// the epoch's number, so that all processes that hold the plan do the same at the same time, and
// none has to ask another. It is not safe for concurrent use.
type Epochs struct {
	length     time.Duration
	regions    int
	levels     []float64
	zeroWeight float64
	seed       uint64
	arms, rest int64 // epochs of a round in which something is measured, and after these

	round int64 // of which drawn are the arms
	drawn []Arm
}

// NewEpochs returns the schedule of a plan.
func NewEpochs(p *plan.Plan) *Epochs {
	e := &Epochs{
		length: time.Duration(p.Timing.Epoch), regions: len(p.Regions),
		levels: LevelsOf(p), zeroWeight: p.Grid.ZeroWeight, seed: uint64(p.Seed),
	}
	e.arms = int64(len(e.armsOf(0)))
	// A process cannot rest by what it has lost, as others would go on. So all rest for as long as
	// it takes where a region is all of the time.
	over := design.SlowdownLoss(e.levels, e.zeroWeight, 1)/(design.LossOfDuty*float64(p.Limits.Duty)) - 1
	e.rest = int64(min(math.Ceil(float64(e.arms)*max(0, over)), float64(math.MaxInt64/2/int64(e.length)))) // of times to come
	return e
}

// LevelsOf are those at which a plan by the clock slows regions down, whatever a program allows.
func LevelsOf(p *plan.Plan) []float64 {
	most := 0.0
	for _, percent := range p.Grid.Speedups {
		most = max(most, percent/100)
	}
	return design.LevelsUpTo(most)
}

func (e *Epochs) armsOf(round int64) []Arm {
	none := func(Arm) [][]float64 { return nil }
	return SlowdownArms(e.regions, e.levels, e.zeroWeight, none, rand.New(rand.NewPCG(e.seed, uint64(round))))
}

// Number is that of the epoch in which a time lies.
func (e *Epochs) Number(t time.Time) int64 {
	n, _ := split(t.UnixNano(), int64(e.length))
	return n
}

// Begins is when an epoch begins.
func (e *Epochs) Begins(number int64) time.Time { return time.Unix(0, number*int64(e.length)) }

// Round is that to which an epoch belongs.
func (e *Epochs) Round(number int64) int64 {
	round, _ := split(number, e.arms+e.rest)
	return round
}

// Arm returns what is done in an epoch; not ok in one of rest.
func (e *Epochs) Arm(number int64) (a Arm, ok bool) {
	round, place := split(number, e.arms+e.rest)
	if place >= e.arms {
		return Arm{}, false
	}
	if e.drawn == nil || e.round != round {
		e.round, e.drawn = round, e.armsOf(round)
	}
	return e.drawn[place], true
}

// Next returns the first epoch from one on in which something is done.
func (e *Epochs) Next(number int64) int64 {
	round, place := split(number, e.arms+e.rest)
	if place >= e.arms {
		return (round + 1) * (e.arms + e.rest)
	}
	return number
}

// Counted is the part of an epoch in which all processes do the same, whose clocks are so far apart
// at most, and have settled: half of the rest of it at least.
func (e *Epochs) Counted(number int64, settling time.Duration) (from, to time.Time) {
	const skew = time.Duration(design.EpochSkew)
	from, to = e.Begins(number).Add(skew), e.Begins(number+1).Add(-skew)
	return from.Add(min(settling, MostSettling(e.length))), to
}

// MostSettling is for how long an epoch of that length settles at most.
func MostSettling(length time.Duration) time.Duration { return (length - 2*design.EpochSkew) / 2 }

// split returns the quotient, rounded down, and the remainder, which is not negative.
func split(n, by int64) (quotient, remainder int64) {
	quotient, remainder = n/by, n%by
	if remainder < 0 {
		return quotient - 1, remainder + by
	}
	return quotient, remainder
}
