package causal

import (
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/classes"
	"github.com/otelprof/otelprof/causal/internal/experiment"
	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/causal/internal/virtualtime"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// An influence is what one arm does to the program while it is at work. Goroutines of the application call atEnd and growthAt.
type influence interface {
	// atEnd does what is due at the end of a span of a region of the run, and returns the delay. The frame may be nil.
	atEnd(f *ledger.Frame, r *spans.Span, region int) time.Duration
	// growthAt is by how much time, ns, the program would be ahead at a moment of the clock.
	growthAt(now int64) int64
	// rest ends what stays of it elsewhere once it is no longer the run's.
	rest()

	// delays is the number of delays inserted so far.
	delays() int64
	// latencies are the distributions of the durations of each progress point's spans in the
	// time that is left without the delays, nil where that is not measured.
	latencies() []*otelhdr.Snapshot
	// mark begins what is measured, and look adds what can be seen of it at the end.
	mark()
	look(*experiment.Experiment)
}

// inForce returns the influence that is in force.
func (run *run) inForce() influence {
	if i := run.influence.Load(); i != nil {
		return *i
	}
	return still{}
}

// has reports whether an influence is in force.
func (run *run) has(i influence) bool { return run.inForce() == i }

// put puts an influence in force.
func (run *run) put(i influence) { run.influence.Store(&i) }

// begin puts an arm in force. One without delay is a placebo: all is done that is done in others, and what it costs the program is
// in both.
func (run *run) begin(a experiment.Arm) influence {
	if run.plan.Mode == profile.ModeDilation {
		d := &dilation{run: run, factor: a.Factor(), spared: a.Spared}
		virtualtime.Observe(run, nil)
		run.put(d)
		return d
	}
	if run.plan.Mode == profile.ModeSlowdown {
		v := run.newSlowdown(a)
		virtualtime.Observe(run, nil)
		run.put(v)
		return v
	}
	if scheduling() {
		return run.beginScheduled(a)
	}
	o, err := run.newOverlap(a)
	if err != nil {
		return still{} // the region has no ID: there are too many
	}
	for i := range run.progress {
		run.progress[i].Reset()
	}
	virtualtime.Observe(run, o.observation)
	run.put(o)
	return o
}

// rest ends what is in force. Delays in flight see it at once.
func (run *run) rest() {
	if i := run.influence.Swap(nil); i != nil {
		(*i).rest()
	}
	virtualtime.Unobserve(run)
}

// still is the influence between arms, and of an arm in which nothing happens. A goroutine may still owe what another controller's
// experiment has it pay.
type still struct{}

func (still) atEnd(*ledger.Frame, *spans.Span, int) time.Duration { return point() }

func (still) growthAt(int64) int64           { return 0 }
func (still) rest()                          {}
func (still) delays() int64                  { return 0 }
func (still) latencies() []*otelhdr.Snapshot { return nil }
func (still) mark()                          {}
func (still) look(*experiment.Experiment)    {}

// observes returns the observation of a setting in which the plan's progress points are numbered
// as in the plan. A span that matches several visits the first.
func (run *run) observes(s *ledger.Setting) *virtualtime.Observation {
	known := classes.All()
	o := &virtualtime.Observation{Setting: s, PointOf: make([]int8, len(known)), Panicked: run.panicked}
	for i, c := range known {
		o.PointOf[i] = int8(slices.IndexFunc(run.plan.Progress, func(p plan.ProgressPoint) bool {
			return p.Type == plan.TypeLatency && glob.Match(p.Span, c.Key.Name)
		}))
	}
	return o
}

// quantiles returns those that the progress points ask for, of what was recorded in between.
func (run *run) quantiles(recorded []*otelhdr.Snapshot) [][]float64 {
	all := make([][]float64, len(recorded))
	for point, p := range run.plan.Progress {
		if recorded[point] == nil {
			continue
		}
		_, at := p.Metrics()
		for _, percent := range at {
			all[point] = append(all[point], quantile(recorded[point], percent))
		}
	}
	return all
}

func quantile(s *otelhdr.Snapshot, percent float64) float64 { return float64(s.Percentile(percent)) }

// recorded is what came between two readings, by progress point; nil for those that have no
// latency.
func (run *run) recorded(before, after []*otelhdr.Snapshot) []*otelhdr.Snapshot {
	all := make([]*otelhdr.Snapshot, len(run.plan.Progress))
	for point, p := range run.plan.Progress {
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
