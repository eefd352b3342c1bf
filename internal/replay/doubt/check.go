package doubt

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// ModelError is what no number of windows takes away: how far off the model is where its self-check
// is met, in parts of the recorded period. Each interval is wider by it on both sides. make
// accuracy finds it. Were it 0, many windows that are alike would have an interval of no width.
const ModelError = 0.01

// Where it is not known of which object waits are, the truth is bounded from both sides by other
// translations of the recording. A program that could not have made the recording bounds nothing:
// so what alternatives in package replay finds counts only if its own replay of nothing changed
// meets the recording. The open loop of [OfClients], and the program with work per visit of
// [BothWays], count in any case. TestBounds in package replay has a client that waits for a lock,
// with an answer of 0 in the recorded order, and 25 to 30 % if the wait is as long as it was.

// An Alternative is another translation of the same recording, and its replay of nothing changed.
type Alternative struct {
	P *model.Program
	// Base is the replay of P with nothing changed. What a change brings in P is taken relative to
	// Base, not to the recording: what both miss the recording by cancels out.
	Base sim.Outcome
	// Most means that it bounds the truth only from above, as where goroutines wait for locks for
	// as long as they did. Slower means that it bounds only what slower regions do.
	Most, Slower bool
	// Pace is what is left of all time that goroutines compute, in (0, 1), where other programs
	// leave the processors alone; 0 for the pace of the recording. P is the first translation then.
	Pace float64
	// Waits are contention that is regions of its own in P, by region: see Contend.
	Waits map[int32]*Contention
}

// Met reports whether the replay of nothing changed met what was recorded.
func (c *Check) Met() bool { return !c.Stuck && c.Miss() <= MaxDeviation }

// Miss returns by which part it missed that, at least 0, whether the replay was too slow or too
// fast. It is infinite where the recording or the replay has no period, see [Period].
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
	// LeastWindows is how many windows a number takes: an interval comes from between them.
	// Student's t at 95 % is 2.8 with five windows and 12.7 with two, so that fewer give wide
	// intervals alone.
	LeastWindows = 5
	// LeastVisits in a window, for its period to mean anything. Where visits come at random the
	// mean of nine gaps is still off by a third, 1/sqrt(9).
	LeastVisits = 10
	// MaxDeviation is by which part the replay of nothing changed may miss the recorded period, for
	// a window to count without a doubt. ADR 0007 decides on it. A larger miss makes the interval
	// wider by as much, and leaves bounds alone if most windows have it.
	MaxDeviation = 0.03
	// MaxUndecided is which part of the time goroutines may wait for what time or the state of the
	// program decides: for what timers call, for servers chosen by their load, in pauses. Where
	// that is more, the recording does not show what a faster program would do, and bounds alone
	// are left.
	MaxUndecided = 0.1
)

// A Check is how well the replay of nothing changed meets the recording at a progress point: an A/A
// test. To meet it is necessary and not sufficient: a program whose waits all keep their recorded
// order meets any recording. So an answer rests on the alternatives, too.
type Check struct {
	Point     string
	Visits    int     // in the recording
	Period    float64 // recorded, ns
	Replayed  float64 // ns
	Stuck     bool    // the replay came to a state in which nothing could go on
	Deviation float64 // Replayed/Period - 1
}

// Misses returns by which part an outcome of nothing changed misses the recording, at the progress
// point where that is most; d is the window's length, ns. Points with fewer than LeastVisits do
// not count. It is infinite if the replay came to a stop, and 0 if no point has visits enough.
func Misses(p *model.Program, o *sim.Outcome, d int64) float64 {
	worst := 0.0
	for i, v := range p.Recorded() {
		if c := CheckPoint("", v, o.Visits[i], o.Stuck, d); c.Visits >= LeastVisits {
			if c.Stuck {
				return math.Inf(1)
			}
			worst = max(worst, c.Miss())
		}
	}
	return worst
}

// CheckPoint compares recorded visits of a progress point with replayed ones in d ns. Both are in
// order, since the window's beginning.
func CheckPoint(name string, recorded, replayed []int64, stuck bool, d int64) Check {
	c := Check{Point: name, Visits: len(recorded), Period: Period(recorded, d), Replayed: Period(replayed, d), Stuck: stuck}
	c.Deviation = c.Replayed/c.Period - 1
	return c
}

// Period returns the mean time between visits in the last nine tenths of the time, ns, or NaN if
// there are fewer than two. Visits are in order, since the beginning of a window of d ns.
//
// The first tenth is left out as a simulation's warm-up: queues and caches of the replay begin as
// the recording shows them, which is incomplete, and take a while to fill. The mean is that of all
// gaps, (last - first) / (n - 1), so that bursts count as much as they take. It counts no time
// behind the last visit: what comes to a stop is found by Stuck, not by its period.
func Period(v []int64, d int64) float64 {
	for len(v) > 0 && v[0] < d/10 {
		v = v[1:]
	}
	if len(v) < 2 {
		return math.NaN()
	}
	return float64(v[len(v)-1]-v[0]) / float64(len(v)-1)
}
