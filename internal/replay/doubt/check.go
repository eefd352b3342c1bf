package doubt

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// ModelError is what no number of windows takes away: how far off the model is where its self-check
// is met, in parts of the recorded period. make accuracy finds it.
const ModelError = 0.01

// Where it is not known of which object waits are, the truth is bounded from both sides by other
// translations of the recording.

// An Alternative is another translation of the same recording, and its replay of nothing changed.
type Alternative struct {
	P    *model.Program
	Base sim.Outcome
	// Most means that it bounds the truth only from above, and slower that it bounds only what
	// slower regions do.
	Most, Slower bool
	// Pace is that of computing where other programs leave the processors alone, of the same
	// translation; 0 for that of the recording.
	Pace float64
}

// Met reports whether the replay of nothing changed met what was recorded.
func (c *Check) Met() bool { return !c.Stuck && c.Miss() <= MaxDeviation }

// Miss returns by which part it missed that, infinite where that is not known.
func (c *Check) Miss() float64 {
	if math.IsNaN(c.Deviation) {
		return math.Inf(1)
	}
	return math.Abs(c.Deviation)
}

// How much a study looks at.
const (
	UsualRegions = 16
	UsualWindows = 20
	maxPoints    = 8
	// LeastWindows is how many windows a number takes: an interval comes from between them.
	LeastWindows = 5
	// LeastVisits in a window, for its period to mean anything.
	LeastVisits = 10
	// MaxDeviation is by which part the replay of nothing changed may miss the recorded period.
	MaxDeviation = 0.03
)

// A Check is how well the replay of nothing changed meets the recording at a progress point: an A/A
// test.
type Check struct {
	Point     string
	Visits    int     // in the recording
	Period    float64 // recorded, ns
	Replayed  float64 // ns
	Stuck     bool    // the replay came to a state in which nothing could go on
	Deviation float64 // Replayed/Period - 1
}

// Misses returns by which part an outcome of nothing changed misses the recording, at the progress
// point where that is most.
func Misses(p *model.Program, o *sim.Outcome, d int64) float64 {
	worst := 0.0
	for i, v := range p.Recorded() {
		if c := CheckPoint("", v, o.Visits[i], o.Stuck, d); c.Visits >= LeastVisits {
			if c.Stuck || math.IsNaN(c.Deviation) {
				return math.Inf(1)
			}
			worst = max(worst, math.Abs(c.Deviation))
		}
	}
	return worst
}

// CheckPoint compares recorded visits of a progress point with replayed ones in d ns.
func CheckPoint(name string, recorded, replayed []int64, stuck bool, d int64) Check {
	c := Check{Point: name, Visits: len(recorded), Period: Period(recorded, d), Replayed: Period(replayed, d), Stuck: stuck}
	c.Deviation = c.Replayed/c.Period - 1
	return c
}

// Period returns the mean time between visits in the last nine tenths of the time.
func Period(v []int64, d int64) float64 {
	for len(v) > 0 && v[0] < d/10 {
		v = v[1:]
	}
	if len(v) < 2 {
		return math.NaN()
	}
	return float64(v[len(v)-1]-v[0]) / float64(len(v)-1)
}
