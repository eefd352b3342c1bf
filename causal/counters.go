package causal

import (
	"time"

	"github.com/otelprof/otelprof/causal/internal/admission"
	"github.com/otelprof/otelprof/causal/internal/breaker"
	"github.com/otelprof/otelprof/causal/internal/experiment"
	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/internal/requests"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/otelhdr"
)

// An armStart is what the counters showed when an arm was put in force, and then when it began to be measured.
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
func (run *run) startCounting(start *armStart, a experiment.Arm, i influence) {
	i.mark()
	start.delays, start.visits, start.withheld = i.delays(), run.visits(), run.guard.Counts()
	for point := range start.visits {
		if start.visits[point].Count == start.arrived[point].Count { // it is visited rarely
			now := clock.Now()
			start.visits[point].At, start.visits[point].Growth = now, i.growthAt(now)
		}
	}
	if a.Speedup == 0 {
		run.breaker.Enter(time.Now(), breaker.Still)
	}
	start.growth, start.busy, start.calls, start.rooted = i.growthAt(clock.Now()), run.load.mark(), requests.Answered.Load(), run.rooted.Load()
	start.latencies, start.ways = i.latencies(), run.ways()
	start.loaded, start.began = run.loads(), time.Now()
}

// endCounting adds to an experiment what the counters show since the start, and keeps the experiment.
func (run *run) endCounting(e experiment.Experiment, start *armStart, i influence) {
	e.Delays = i.delays() - start.delays
	without := run.guard.Counts().Since(start.withheld)
	e.NearDeadlines = int64(without[admission.RuleDeadline])
	if run.plan.Mode != profile.ModeSlowdown { // there what was really taken counts
		e.Spoiled = without.Spoils(e.Delays)
	}
	e.Inserted = time.Duration(run.guard.Spent.Load() - start.spent)
	e.Calls = requests.Answered.Load() - start.calls
	e.Busy, e.Machine = run.load.since(start.busy), start.loaded()
	i.look(&e)
	e.Paths = run.ways()
	for point := range e.Paths {
		for path := range e.Paths[point] {
			e.Paths[point][path] -= start.ways[point][path]
		}
	}
	recorded := run.recorded(start.latencies, i.latencies())
	e.Quantiles = run.quantiles(recorded)
	run.add(e, recorded)
}

// ways are the visits of each progress point by path.
func (run *run) ways() (all [][experiment.MostPaths]uint32) {
	for i := range run.paths {
		all = append(all, run.paths[i].Counts())
	}
	return all
}
