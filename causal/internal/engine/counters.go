package engine

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/engine/admission"
	"github.com/otelprof/otelprof/causal/internal/engine/breaker"
	"github.com/otelprof/otelprof/causal/internal/engine/experiment"
	"github.com/otelprof/otelprof/causal/internal/engine/requests"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/otelhdr"
)

// An armStart is what the counters showed when an arm was put in force, and then when it began to
// be measured.
type armStart struct {
	at      time.Duration      // since the run began
	spent   int64              // ns of delay
	arrived []experiment.Visit // by progress point

	began     time.Time // of the measurement, as all below
	delays    int64
	visits    []experiment.Visit // by progress point
	withheld  admission.Withheld
	growth    int64 // ns
	busy      loadMark
	calls     uint64
	rooted    int64                          // ns
	latencies []*otelhdr.Snapshot            // by progress point
	ways      [][experiment.MostPaths]uint32 // by progress point
	loaded    func() record.Load             // of the time since
}

// startCounting reads the counters at which the measurement of an arm begins.
func (run *Run) startCounting(start *armStart, a experiment.Arm, i Influence) {
	i.Mark()
	start.delays, start.visits, start.withheld = i.Delays(), run.Visits(), run.Guard.Counts()
	for point := range start.visits {
		if start.visits[point].Count == start.arrived[point].Count { // it is visited rarely
			now := clock.Now()
			start.visits[point].At, start.visits[point].Growth = now, i.GrowthAt(now)
		}
	}
	if a.Speedup == 0 {
		run.Breaker.Enter(time.Now(), breaker.Still)
	}
	start.growth, start.busy, start.calls, start.rooted = i.GrowthAt(clock.Now()), run.Load.mark(), requests.Answered.Load(), run.rooted.Load()
	start.latencies, start.ways = i.Latencies(), run.Ways()
	start.loaded, start.began = run.loads(), time.Now()
}

// endCounting adds to an experiment what the counters show since the start, and keeps the
// experiment.
func (run *Run) endCounting(e experiment.Experiment, start *armStart, i Influence) {
	e.Delays = i.Delays() - start.delays
	without := run.Guard.Counts().Since(start.withheld)
	e.NearDeadlines = int64(without[admission.RuleDeadline])
	if run.Plan.Mode != profile.ModeSlowdown { // there what was really taken counts
		e.Spoiled = without.Spoils(e.Delays)
	}
	e.Inserted = time.Duration(run.Guard.Spent.Load() - start.spent)
	e.Calls = requests.Answered.Load() - start.calls
	e.Busy, e.Machine = run.Load.since(start.busy), start.loaded()
	i.Look(&e)
	e.Paths = run.Ways()
	for point := range e.Paths {
		for path := range e.Paths[point] {
			e.Paths[point][path] -= start.ways[point][path]
		}
	}
	recorded := run.recorded(start.latencies, i.Latencies())
	e.Quantiles = run.quantiles(recorded)
	run.Add(e, recorded)
}

// Ways are the visits of each progress point by path.
func (run *Run) Ways() (all [][experiment.MostPaths]uint32) {
	for i := range run.paths {
		all = append(all, run.paths[i].Counts())
	}
	return all
}
