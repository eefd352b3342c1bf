package engine

import (
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/classes"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/virtualtime"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// An Influence is what one arm does to the program while it is at work. Goroutines of the
// application call AtEnd and GrowthAt.
type Influence interface {
	// AtEnd does what is due at the end of a span of a region of the run, and returns the delay.
	// The frame may be nil.
	AtEnd(f *ledger.Frame, r *spans.Span, region int) time.Duration
	// GrowthAt is by how much time, ns, the program would be ahead at a moment of the clock.
	GrowthAt(now int64) int64
	// Rest ends what stays of it elsewhere once it is no longer the run's.
	Rest()

	// Delays is the number of delays inserted so far.
	Delays() int64
	// Latencies are the distributions of the durations of each progress point's spans in the
	// time that is left without the delays, nil where that is not measured.
	Latencies() []*otelhdr.Snapshot
	// Mark begins what is measured, and Look adds what can be seen of it at the end.
	Mark()
	Look(*experiment.Experiment)
}

// InForce returns the influence that is in force.
func (run *Run) InForce() Influence {
	if i := run.Influence.Load(); i != nil {
		return *i
	}
	return still{}
}

// has reports whether an influence is in force.
func (run *Run) has(i Influence) bool { return run.InForce() == i }

// Put puts an influence in force.
func (run *Run) Put(i Influence) { run.Influence.Store(&i) }

// Begin puts an arm in force. One without delay is a placebo: all is done that is done in others,
// and what it costs the program is in both.
func (run *Run) Begin(a experiment.Arm) Influence {
	if run.Plan.Mode == profile.ModeDilation {
		d := &Dilation{Run: run, Factor: a.Factor(), Spared: a.Spared}
		virtualtime.Observe(run, nil)
		run.Put(d)
		return d
	}
	if run.Plan.Mode == profile.ModeSlowdown {
		v := run.newSlowdown(a)
		virtualtime.Observe(run, nil)
		run.Put(v)
		return v
	}
	if Scheduling() {
		return run.beginScheduled(a)
	}
	o, err := run.NewOverlap(a)
	if err != nil { // the region has no ID
		return vain{why: "there are too many regions to know this one from others"}
	}
	for i := range run.Progress {
		run.Progress[i].Reset()
	}
	if !virtualtime.Observe(run, o.Observation) { // else its debts would take the place of the other's
		return vain{why: "another controller has an experiment in force"}
	}
	run.Put(o)
	return o
}

// Rest ends what is in force. Delays in flight see it at once.
func (run *Run) Rest() {
	if i := run.Influence.Swap(nil); i != nil {
		(*i).Rest()
	}
	virtualtime.Unobserve(run)
}

// still is the influence between arms, and of an arm in which nothing happens. A goroutine may
// still owe what another controller's experiment has it pay.
type still struct{}

func (still) AtEnd(*ledger.Frame, *spans.Span, int) time.Duration { return Point() }

func (still) GrowthAt(int64) int64           { return 0 }
func (still) Rest()                          {}
func (still) Delays() int64                  { return 0 }
func (still) Latencies() []*otelhdr.Snapshot { return nil }
func (still) Mark()                          {}
func (still) Look(*experiment.Experiment)    {}

// A vain influence is that of an arm that cannot be put in force, for a reason.
type vain struct {
	still
	why string
}

// Look implements Influence.
func (v vain) Look(e *experiment.Experiment) { e.Spoiled = v.why }

// observes returns the observation of a setting in which the plan's progress points are numbered
// as in the plan. A span that matches several visits the first.
func (run *Run) observes(s *ledger.Setting) *virtualtime.Observation {
	known := classes.All()
	o := &virtualtime.Observation{Setting: s, PointOf: make([]int8, len(known)), Panicked: run.panicked}
	for i, c := range known {
		o.PointOf[i] = int8(slices.IndexFunc(run.Plan.Progress, func(p plan.ProgressPoint) bool {
			return p.Type == plan.TypeLatency && glob.Match(p.Span, c.Key.Name)
		}))
	}
	return o
}

// quantiles returns those that the progress points ask for, of what was recorded in between.
func (run *Run) quantiles(recorded []*otelhdr.Snapshot) [][]float64 {
	all := make([][]float64, len(recorded))
	for point, p := range run.Plan.Progress {
		if recorded[point] == nil {
			continue
		}
		_, at := p.Metrics()
		for _, percent := range at {
			all[point] = append(all[point], float64(recorded[point].Percentile(percent)))
		}
	}
	return all
}

// recorded is what came between two readings, by progress point; nil for those that have no
// latency.
func (run *Run) recorded(before, after []*otelhdr.Snapshot) []*otelhdr.Snapshot {
	all := make([]*otelhdr.Snapshot, len(run.Plan.Progress))
	for point, p := range run.Plan.Progress {
		if p.Type != plan.TypeLatency || point >= len(after) || after[point] == nil {
			continue
		}
		all[point] = after[point]
		if before[point] != nil {
			all[point] = after[point].Since(before[point], nil)
		}
	}
	return all
}
