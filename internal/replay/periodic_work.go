package replay

import (
	"cmp"
	"slices"
)

// In the simulation of work per time, a goroutine that comes to it before it is due takes no time for it: what it would do has been done
// not long ago. What lets others go on is done all the same.

// A schedule is when work per time was done. Where one had to begin it while others were at it, all of these are one bout.
type schedule struct {
	begins []int64 // of bouts, or of all work where only its rate counts, since the window's beginning
	// rests are from the end of one bout to the beginning of the next; nil where only the rate counts.
	rests   []int64
	longest int64 // that the work took
	mean    int64 // from one of the begins to the next
	slack   int64 // before it is due it may be done so long: the replay is not exactly like the recording
}

// A workMark is where work per time begins, before an op, or ends, behind it.
type workMark struct {
	op       int32
	schedule int32
	ends     bool
	joins    bool // it begins when others are at it
}

// A duty is the state of work per time in a simulation.
type duty struct {
	n     int   // how often it has begun
	due   int64 // when it is to be done next, or was to be this time while it is under way
	began int64 // the bout
	last  int64 // when it was begun last
	doing int   // how many are at it
}

// crowded is in how many mean times from one to the next so much is done, where only the rate counts, that it does not matter which
// goroutines do it.
const crowded = 4

// Whether a runner takes time for what it does.
const (
	spends = iota
	spares
	sparesAll // it was started by one that spared
)

// scheduleOf returns the schedule of occasions, which are in order of time, by their rate or by bouts, and which of them join others.
func scheduleOf(all []occasion, rate bool) (s schedule, joins []bool) {
	until := int64(-1)
	joins = make([]bool, len(all))
	for i := range all {
		x := &all[i]
		joins[i] = x.at < until
		if rate || !joins[i] {
			s.begins = append(s.begins, x.at)
		}
		if !rate && !joins[i] && i > 0 {
			s.rests = append(s.rests, x.at-until)
		}
		until = max(until, x.until)
		s.longest = max(s.longest, x.took())
	}
	n := len(s.begins) - 1
	s.mean = max(1, (s.begins[n]-s.begins[0])/int64(max(1, n)))
	if s.slack = s.mean / 2; rate {
		s.slack = crowded * s.mean
	}
	return s, joins
}

// onTime returns a copy of the program in which some work is done per time, by its rate or by bouts.
func (p *program) onTime(all []occasional, rate bool) *program {
	x := *p
	x.compiled, x.spare = nil, nil
	x.schedules, x.marks = nil, map[int32][]workMark{}
	for i := range all {
		s, joins := scheduleOf(all[i].occasions, rate)
		for k, o := range all[i].occasions {
			x.marks[o.list] = append(x.marks[o.list], workMark{op: o.op, schedule: int32(i), joins: joins[k]}, workMark{op: o.last, schedule: int32(i), ends: true})
		}
		x.schedules = append(x.schedules, s)
	}
	for _, marks := range x.marks { // one is over before another begins
		slices.SortStableFunc(marks, func(a, b workMark) int { return cmp.Compare(a.op, b.op) })
	}
	return &x
}

// marks emits those of an op, at its beginning or its end, and returns the others.
func (c *compiler) marks(all []workMark, op int, ends bool) []workMark {
	for len(all) > 0 && int(all[0].op) == op && all[0].ends == ends {
		x := instruction{kind: opBegin, arg: all[0].schedule, head: all[0].joins}
		if ends {
			x.kind = opDone
		}
		c.emit(x)
		all = all[1:]
	}
	return all
}

// takeUp has a runner begin work per time, or spare it.
func (s *simulation) takeUp(r *runner, schedule int32, joins bool) {
	if r.spares == sparesAll {
		return
	}
	x, d := &s.p.schedules[schedule], &s.duties[schedule]
	if d.n == 0 && d.doing == 0 {
		d.due = x.begins[0]
	}
	rate := x.rests == nil
	if d.doing > 0 && s.now > d.last+2*x.longest { // their lists have gone on elsewhere
		d.doing = 0
	}
	r.spares = spares
	switch {
	case rate && s.now >= d.due-x.slack, !rate && d.doing == 0 && !joins && s.now >= d.due-x.slack:
		d.n++
		d.due = max(d.due, s.now-2*x.slack) // what was not done for long is not made up for
		d.began = s.now
		if rate {
			d.due += x.next(d.n, x.mean)
		}
	case !rate && d.doing > 0 && joins:
	default:
		return
	}
	r.spares = spends
	d.doing++
	d.last = s.now
}

// next is how long after work of a number began the one of the next number did.
func (x *schedule) next(n int, otherwise int64) int64 {
	if n < len(x.begins) {
		return x.begins[n] - x.begins[n-1]
	}
	return otherwise
}

// putDown has a runner be done with work per time.
func (s *simulation) putDown(r *runner, schedule int32) {
	x, d := &s.p.schedules[schedule], &s.duties[schedule]
	switch {
	case r.spares == spares:
		r.spares = spends
		return
	case r.spares == sparesAll || d.doing == 0:
		return
	}
	if d.doing--; d.doing > 0 || x.rests == nil {
		return
	}
	took := s.now - d.began
	d.due += took
	if d.n <= len(x.rests) {
		d.due += x.rests[d.n-1]
	} else {
		d.due += max(0, x.mean-took)
	}
}
