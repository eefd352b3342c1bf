package doubt

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// crowded is in how many mean times from one to the next so much is done, where only the rate
// counts, that it does not matter which goroutines do it.
const crowded = 4

// scheduleOf returns the schedule of occasions, which are in order of time, by their rate or by
// bouts, and which of them join others.
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
	n := len(s.Begins) - 1
	s.Mean = max(1, (s.Begins[n]-s.Begins[0])/int64(max(1, n)))
	if s.Slack = s.Mean / 2; rate {
		s.Slack = crowded * s.Mean
	}
	return s, joins
}

// onTime returns a copy of the program in which some work is done per time, by its rate or by
// bouts.
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
