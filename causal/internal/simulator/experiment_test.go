package simulator

import (
	"github.com/otelprof/otelprof/causal/internal/ledger"
	replaytrace "github.com/otelprof/otelprof/internal/replay/trace"
)

// The regions of a program. All others have no hypothesis.
const (
	Region ledger.RegionID = iota // the one that is asked about
	Point                         // its ends are the progress
	Other
)

// An Experiment is a program and the world that it is run in, time and again. An effect is by which
// part the time from one arrival to the next gets shorter: 1 - period(s)/period(0).
type Experiment struct {
	Program   func(w *World)
	Config    Config
	Warm, End int64 // what happens from Warm to End is measured

	base float64 // period of the program as it is, 0 if not known yet
}

// Run runs the program in its world and returns what was measured.
func (x *Experiment) Run(c Config) []Arrival { return x.runMidway(c, func(*World) {}) }

// runMidway runs the program as Run does, with a change to its world at Warm.
func (x *Experiment) runMidway(c Config, change func(w *World)) []Arrival {
	w := x.world(c)
	defer w.Stop()
	w.Run(x.Warm)
	change(w)
	w.Run(x.End)
	all := w.Arrivals()
	for len(all) > 0 && all[0].Time <= x.Warm {
		all = all[1:]
	}
	return all
}

// Shortened is the truth: the effect of the region really taking 1-Speedup of its time.
func (x *Experiment) Shortened(h ledger.Hypothesis) float64 {
	c := x.Config
	c.Shorter = h
	return x.effect(c)
}

// ShortenedMidway is the truth of a program that is recorded and then becomes faster: the region
// takes 1-Speedup of its time from Warm on. It differs from Shortened where a program stays in the
// order that it is in, of several that it could keep (hysteresis).
func (x *Experiment) ShortenedMidway(h ledger.Hypothesis) float64 {
	return 1 - period(x.runMidway(x.Config, func(w *World) { w.config.Shorter = h }))/x.basePeriod()
}

// Overlap is the prediction of a run in which all others are delayed.
func (x *Experiment) Overlap(h ledger.Hypothesis) (float64, *ledger.Setting, error) {
	s, err := ledger.NewPaidSetting(h, 1)
	if err != nil {
		return 0, nil, err
	}
	c := x.Config
	c.Setting = s
	return x.effect(c), s, nil
}

func (x *Experiment) effect(c Config) float64 { return 1 - period(x.Run(c))/x.basePeriod() }

func (x *Experiment) basePeriod() float64 {
	if x.base == 0 {
		x.base = period(x.Run(x.Config))
	}
	return x.base
}

func (x *Experiment) world(c Config) *World {
	c.Point = Point
	if c.Shorter == (ledger.Hypothesis{}) {
		c.Shorter.Region = ledger.NoRegion
	}
	w := NewWorld(c)
	x.Program(w)
	return w
}

// period returns the mean time from one arrival to the next, less what was inserted.
func period(arrivals []Arrival) float64 {
	first, last := arrivals[0], arrivals[len(arrivals)-1]
	return float64(last.Time-last.Growth-first.Time+first.Growth) / float64(len(arrivals)-1)
}

// Recorded records the program from Warm to End, see [World.Record], and returns what was measured
// meanwhile, too.
func (x *Experiment) Recorded(stock bool) (*replaytrace.Recording, []Arrival) {
	w := x.world(x.Config)
	defer w.Stop()
	w.Run(x.Warm)
	before := len(w.Arrivals())
	w.Record(replaytrace.NewRecorder(w.Now(), x.Config.CPUs), stock)
	w.Run(x.End)
	return w.Recorded(), w.Arrivals()[before:]
}
