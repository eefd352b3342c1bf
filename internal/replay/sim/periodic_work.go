package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// A duty is the state of work per time in a simulation.
type duty struct {
	n     int   // how often it has begun
	due   int64 // when it is to be done next, or was to be this time while it is under way
	began int64 // the bout
	last  int64 // when it was begun last
	doing int   // how many are at it
}

// marks emits those of an op, at its beginning or its end, and returns the others.
func (c *compiler) marks(all []model.WorkMark, op int, ends bool) []model.WorkMark {
	for len(all) > 0 && int(all[0].Op) == op && all[0].Ends == ends {
		x := instruction{kind: opBegin, arg: all[0].Schedule, head: all[0].Joins}
		if ends {
			x.kind = opDone
		}
		c.emit(x)
		all = all[1:]
	}
	return all
}

// takeUp has a runner begin work per time, or spare it.
func (s *Simulation) takeUp(r *runner, schedule int32, joins bool) {
	if r.spares == model.SparesAll {
		return
	}
	x, d := &s.P.Schedules[schedule], &s.duties[schedule]
	if d.n == 0 && d.doing == 0 {
		d.due = x.Begins[0]
	}
	rate := x.Rests == nil
	if d.doing > 0 && s.now > d.last+2*x.Longest { // their lists have gone on elsewhere
		d.doing = 0
	}
	r.spares = model.Spares
	switch {
	case rate && s.now >= d.due-x.Slack, !rate && d.doing == 0 && !joins && s.now >= d.due-x.Slack:
		d.n++
		d.due = max(d.due, s.now-2*x.Slack) // what was not done for long is not made up for
		d.began = s.now
		if rate {
			d.due += x.Next(d.n, x.Mean)
		}
	case !rate && d.doing > 0 && joins:
	default:
		return
	}
	r.spares = model.Spends
	d.doing++
	d.last = s.now
}

// putDown has a runner be done with work per time.
func (s *Simulation) putDown(r *runner, schedule int32) {
	x, d := &s.P.Schedules[schedule], &s.duties[schedule]
	switch {
	case r.spares == model.Spares:
		r.spares = model.Spends
		return
	case r.spares == model.SparesAll || d.doing == 0:
		return
	}
	if d.doing--; d.doing > 0 || x.Rests == nil {
		return
	}
	took := s.now - d.began
	d.due += took
	if d.n <= len(x.Rests) {
		d.due += x.Rests[d.n-1]
	} else {
		d.due += max(0, x.Mean-took)
	}
}
