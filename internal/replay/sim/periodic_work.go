package sim

import (
	"github.com/otelprof/otelprof/internal/replay/model"
)

// Work per time: a cache that is loaded again when it is too old, statistics that are written each
// second, by whichever request finds that it is time. Faster requests do not have more of it, but
// less each. A list does it where it did it in the recording, once for so many requests, so that a
// faster program would do it more often. In ms, with loads that are due each 10:
//
//	recorded, requests of 5    r r L r r L r r L      each second request
//	replay, requests of 2.5    r r L r r L            at 5, 10, 15: too often
//	by the schedule            r r s r r L r r s      s is spared: its time has not come
//
// So a load that a list comes to before it is due takes no time (spares), nor does what it starts,
// while all that lets others go on is done. That a program has such work is a doubt, not a fact:
// package doubt decides by the gaps between loads whether they are per time or per visit (Rhythm),
// and makes the program with schedules (onTime). TestPerTime holds the answers. A list that has no
// load when one is due cannot do it, so that some come late.

// A duty is the state of work per time in a simulation. Times are ns since the window began.
type duty struct {
	n     int   // how often it has begun
	due   int64 // when it is to be done next, or was to be this time while it is under way
	began int64 // the bout
	last  int64 // when it was begun last
	doing int   // how many are at it
}

// marks emits the marks of an op, at its beginning or its end, and returns the others. All are in
// the order of their ops, and one kind of work is over before another begins, so that only the
// first ones have to be looked at.
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

// takeUp has a runner begin work per time, or spare it. There are two kinds. By rate: each one that
// begins takes the next time of the recorded ones, whatever the others do. By bouts: goroutines
// that find the same thing stale do it side by side, and the next bout is due some time after the
// end of this one. Then one that joined others in the recording does it only beside others, and one
// that began a bout only when it is due and no other is at it. A goroutine that spared work starts
// is spared as a whole (SparesAll).
func (s *Simulation) takeUp(r *runner, schedule int32, joins bool) {
	if r.spares == model.SparesAll {
		return
	}
	// The first one is due when it was in the recording.
	x, d := &s.P.Schedules[schedule], &s.duties[schedule]
	if d.n == 0 && d.doing == 0 {
		d.due = x.Begins[0]
	}
	rate := x.Rests == nil
	if d.doing > 0 && s.now > d.last+2*x.Longest { // their lists have gone on elsewhere
		d.doing = 0
	}
	// It is spared unless it is due, or joins a bout. The replay is not exactly like the recording:
	// it may come up to the slack too early. One that comes late moves the next ones, by at most
	// twice the slack.
	r.spares = model.Spares
	switch {
	case rate && s.now >= d.due-x.Slack, !rate && d.doing == 0 && !joins && s.now >= d.due-x.Slack:
		d.n++
		d.due = max(d.due, s.now-2*x.Slack) // what was not done for long is not made up for
		d.began = s.now
		if rate {
			next := x.Mean // behind the last recorded one
			if d.n < len(x.Begins) {
				next = x.Begins[d.n] - x.Begins[d.n-1]
			}
			d.due += next
		}
	case !rate && d.doing > 0 && joins:
	default:
		return
	}
	r.spares = model.Spends
	d.doing++
	d.last = s.now
}

// putDown has a runner be done with work per time: one that spared it goes on to spend time. With
// the last one of a bout the next is due after the recorded rest, behind the last recorded one
// after what is left of the mean.
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
