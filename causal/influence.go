package causal

import (
	"time"

	"github.com/otelprof/otelprof/internal/clock"
)

// An influence is what an arm does to the program while it is in force.
type influence interface {
	// delays is the number of delays inserted so far.
	delays() int64
	// growth is by how much time the program would be ahead.
	growth() time.Duration
	// look adds what can be seen at the end.
	look(*experiment)
}

// begin puts an arm in force.
func (run *run) begin(a arm) influence {
	if run.plan.Mode == ModeDilation {
		d := &dilation{factor: a.factor(), spared: a.spared}
		if d.factor > 0 {
			observe(run, nil, true)
		}
		run.dilation.Store(d)
		return d
	}
	if a.speedup == 0 {
		return still{}
	}
	o, err := run.newOverlap(a)
	if err != nil {
		return still{} // the region has no ID: there are too many
	}
	for i := range run.progress {
		run.progress[i].reset()
	}
	observe(run, o.observation, true)
	run.overlap.Store(o)
	return o
}

// rest ends what is in force. Delays in flight see it at once.
func (run *run) rest() {
	run.dilation.Store(nil)
	run.overlap.Store(nil)
	unobserve(run)
}

// still is the arm in which nothing happens.
type still struct{}

func (still) delays() int64         { return 0 }
func (still) growth() time.Duration { return 0 }
func (still) look(*experiment)      {}

func (d *dilation) delays() int64         { return d.inserted.Load() }
func (d *dilation) growth() time.Duration { return 0 }
func (d *dilation) look(*experiment)      {}

func (v *overlap) delays() int64 { return v.inserted.Load() }

func (v *overlap) growth() time.Duration {
	return time.Duration(v.observation.setting.Growth().At(clock.Now()))
}

func (v *overlap) look(e *experiment) {
	s := v.observation.setting
	e.counts = s.Counts()
	e.residual = time.Duration(e.counts.Left / max(1, e.counts.Pays))
	delays, unable := v.inserted.Load(), v.unable.Load()
	e.spoiled = e.spoiled || float64(unable) > maxUnable*float64(delays+unable)
}

// maxUnable is the share of debts that may be carried because there was no way to pay them. It
// is generous: small debts are paid together with the next.
const maxUnable = 0.5
