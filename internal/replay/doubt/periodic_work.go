package doubt

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Work per time in a program: occasions become a schedule, by which package sim decides anew which
// goroutine does the work and when, see takeUp and putDown in its periodic_work.go. A goroutine
// that comes to the work before it is due spares its time. None is added to a list that has none:
// where too few goroutines come to the work the replay falls behind its schedule.
//
//	recorded    |w|........|w|........|w|......    each 10 ms, by every third request
//	faster      |w|........|w|........|w|......    each 10 ms still, by every sixth request
//
// There are two ways to be on time. Where one goroutine does the work at a time, the next bout is
// due as long behind the end of one as it was (time to live). Where several do, goroutines that
// come while others are at it join the bout or not, as recorded; or the rate alone is kept, by any
// of them, and however long it takes.

// crowded is in how many mean times from one to the next so much is done, where only the rate
// counts, that it does not matter which goroutines do it. It is the slack by which work by rate may
// be early: less, and goroutines that come a little sooner than recorded spare the work of one that
// then never comes; more, and faster requests do more of it than is due.
const crowded = 4

// scheduleOf returns the schedule of occasions, which are in order of time, by their rate or by
// bouts, and which of them join others: an occasion joins if it begins before all earlier ones are
// over. There must be an occasion, and none before the window.
func scheduleOf(all []Occasion, rate bool) (s model.Schedule, joins []bool) {
	until := int64(-1)
	joins = make([]bool, len(all))
	for i := range all {
		x := &all[i]
		joins[i] = x.At < until
		if rate || !joins[i] {
			s.Begins = append(s.Begins, x.At)
		}
		if !rate && !joins[i] && i > 0 {
			s.Rests = append(s.Rests, x.At-until)
		}
		until = max(until, x.Until)
		s.Longest = max(s.Longest, x.took())
	}
	// By bouts the work may be half of the mean time early, so that a replay which is a little fast
	// does not skip a turn.
	n := len(s.Begins) - 1
	s.Mean = max(1, (s.Begins[n]-s.Begins[0])/int64(max(1, n)))
	if s.Slack = s.Mean / 2; rate {
		s.Slack = crowded * s.Mean
	}
	return s, joins
}

// onTime returns a copy of the program in which some work is done per time, by its rate or by
// bouts. It shares the lists with p, since marks are beside them. Occasions are in order of time.
func onTime(p *model.Program, all []Occasional, rate bool) *model.Program {
	x := *p
	x.Compiled, x.Spare = nil, nil
	x.Schedules, x.Marks = nil, map[int32][]model.WorkMark{}
	for i := range all {
		s, joins := scheduleOf(all[i].Occasions, rate)
		for k, o := range all[i].Occasions {
			x.Marks[o.List] = append(x.Marks[o.List], model.WorkMark{Op: o.Op, Schedule: int32(i), Joins: joins[k]}, model.WorkMark{Op: o.Last, Schedule: int32(i), Ends: true})
		}
		x.Schedules = append(x.Schedules, s)
	}
	for _, marks := range x.Marks { // one is over before another begins
		slices.SortStableFunc(marks, func(a, b model.WorkMark) int { return cmp.Compare(a.Op, b.Op) })
	}
	return &x
}
