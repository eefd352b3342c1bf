package causal

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/internal/glob"

	"github.com/otelprof/otelprof/causal/internal/ledger"
	"github.com/otelprof/otelprof/internal/clock"
	"github.com/otelprof/otelprof/otelhdr"
)

// An influence is what an arm does to the program while it is in force.
type influence interface {
	// delays is the number of delays inserted so far.
	delays() int64
	// growth is by how much time the program would be ahead.
	growth() time.Duration
	// latencies are the distributions of the durations of each progress point's spans in the
	// time that is left without the delays, nil where that is not measured.
	latencies() []*otelhdr.Snapshot
	// look adds what can be seen at the end.
	look(*experiment)
}

// begin puts an arm in force.
func (run *run) begin(a arm) influence {
	if run.plan.Mode == ModeDilation {
		d := &dilation{factor: a.factor(), spared: a.spared}
		if d.factor > 0 {
			run.observe(nil)
		}
		run.dilation.Store(d)
		return d
	}
	if a.speedup == 0 {
		return run.beginStill()
	}
	if scheduling() {
		return run.beginScheduled(a)
	}
	o, err := run.newOverlap(a)
	if err != nil {
		return still{} // the region has no ID: there are too many
	}
	for i := range run.progress {
		run.progress[i].reset()
	}
	run.observe(o.observation)
	run.overlap.Store(o)
	return o
}

// rest ends what is in force. Delays in flight see it at once.
func (run *run) rest() {
	run.dilation.Store(nil)
	run.overlap.Store(nil)
	run.restScheduled()
	run.unobserve()
}

// still is the arm in which nothing happens.
type still struct{ observation *observation } // nil if no latency is measured

func (run *run) beginStill() still {
	if !slices.ContainsFunc(run.plan.Progress, func(p ProgressPoint) bool { return p.Type == TypeLatency }) {
		return still{}
	}
	o := run.observes(ledger.NewSetting(len(run.plan.Progress)))
	run.observe(o)
	return still{o}
}

func (still) delays() int64         { return 0 }
func (still) growth() time.Duration { return 0 }
func (still) look(*experiment)      {}

func (s still) latencies() []*otelhdr.Snapshot {
	if s.observation == nil {
		return nil
	}
	return s.observation.latencies()
}

// observes returns the observation of a setting in which the plan's progress points are numbered
// as in the plan. A span that matches several visits the first.
func (run *run) observes(s *ledger.Setting) *observation {
	classes := allClasses()
	o := &observation{setting: s, pointOf: make([]int8, len(classes)), panicked: run.panicked}
	for i, c := range classes {
		o.pointOf[i] = int8(slices.IndexFunc(run.plan.Progress, func(p ProgressPoint) bool {
			return p.Type == TypeLatency && glob.Match(p.Span, c.key.Span)
		}))
	}
	return o
}

func (d *dilation) latencies() []*otelhdr.Snapshot { return nil }
func (d *dilation) delays() int64                  { return d.inserted.Load() }
func (d *dilation) growth() time.Duration          { return 0 }
func (d *dilation) look(*experiment)               {}

func (v *overlap) delays() int64 { return v.inserted.Load() }

func (v *overlap) growth() time.Duration {
	return time.Duration(v.observation.setting.Growth().At(clock.Now()))
}

func (v *overlap) latencies() []*otelhdr.Snapshot { return v.observation.latencies() }

// latencies are the distributions of durations by progress point, nil where there are none.
func (o *observation) latencies() []*otelhdr.Snapshot {
	all := make([]*otelhdr.Snapshot, o.setting.Points())
	for point := range all {
		all[point] = o.setting.Latency(point)
	}
	return all
}

// quantiles returns those that the progress points ask for, of what was recorded in between.
func (run *run) quantiles(recorded []*otelhdr.Snapshot) [][]float64 {
	all := make([][]float64, len(recorded))
	for point, p := range run.plan.Progress {
		if recorded[point] == nil {
			continue
		}
		_, at := p.metrics()
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
		if p.Type != TypeLatency || point >= len(after) || after[point] == nil {
			continue
		}
		all[point] = after[point]
		if before[point] != nil {
			all[point] = after[point].Since(before[point], nil)
		}
	}
	return all
}

func (v *overlap) look(e *experiment) {
	s := v.observation.setting
	e.ends = v.region.count.Load() - v.before
	e.counts = s.Counts()
	e.locks = mutexWait() - v.waited
	e.residual = time.Duration(e.counts.Left / max(1, e.counts.Pays))
	delays, unable := v.inserted.Load(), v.unable.Load()
	if e.spoiled == "" && float64(unable) > maxUnable*float64(delays+unable) {
		e.spoiled = fmt.Sprintf("processors were short: %d of %d delays could not be inserted", unable, delays+unable)
	}
}

// maxUnable is the share of debts that may be carried because there was no way to pay them. It
// is generous: small debts are paid together with the next.
const maxUnable = 0.5
