package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/stats"
)

// Doubts widen an interval, and never silence it: an answer comes from the windows that nothing
// speaks against, where there are enough, and else from all that were simulated, wider by what
// speaks against them.
//
//	reduction = 1 - sum of after / sum of before, over the visits of all windows used
//	reach     = what windows differ by: Student's t, of recordings where these differ by more
//	margin    = ModelError + deviation of the self-check + what strayed, came later or was paused
//	            + what clocks of several processes may be off by
//	            + 15 % of the reduction, where an order is kept
//	            + StarvedError of the reduction, for the part of the time without a processor
//	interval  = reduction -+ (reach + margin), and out to what alternatives, variations, buckets
//	            and collections came to; with bounds alone, to the hull
//
// The ratio of totals counts a window by its visits: a mean of the windows' ratios would count a
// quiet one for as much as a burst. The self-check's deviation is a margin since the replay misses
// the program with the change by about as much as without it. Where fewer than two windows come
// within a half of the recording, or most of them come to a stop, there are the bounds alone that
// need no replay, of throughput; of latency there is nothing.
//
// With six windows of which four meet the recording, and two miss it by 20 %, all six answer, with
// the mean of what they miss by as margin, 7.5 %. With one more that meets it, these five answer
// alone: TestWindowsLeftOut.

const (
	// FewestWindows give an answer, if a wide one, by Student's t: of two windows it reaches for
	// 12.7 standard errors, of five for 2.8. One window does not show by how much windows differ.
	FewestWindows = 2
	// mostMissed is by which part the replay of nothing changed may miss a window that has a part
	// in an answer. What it misses by is a margin on both sides: at a half the interval is as wide
	// as all that a speed-up may bring, so that a worse window could only be wrong.
	mostMissed = 0.5
	// mostDeviation is the largest deviation that an answer has, since JSON has no infinite one,
	// as a window without a period has: wider than all that an answer may be.
	mostDeviation = 100
)

// A judgement sorts the windows of a study by what speaks against their answers to one question.
// Each window that was asked is clear, in doubt, stuck, one of few visits, or too far off for any
// of these.
type judgement struct {
	asked      int
	clear, all []*window        // what may answer, without a doubt and with or without one; in order of time
	doubts     map[Withheld]int // of how many windows, those too far off included
	few, stuck int
	missed     int       // by more than MaxDeviation: in doubt, or too far off
	deviations []float64 // of all but few and stuck ones, in order; infinite where not known
}

// judge judges all windows that were asked a question.
func (s *Study) judge(q question) judgement {
	e := judgement{doubts: map[Withheld]int{}}
	for _, w := range s.windows {
		if !w.asked[q.ask] {
			continue
		}
		e.asked++
		// Without a check there are too few visits in the recording, without a sample too few
		// durations for the quantile. A replay in which nothing goes on any more, or that goes on
		// only since waits are given up, is no replay of the program.
		c, ok := w.checks[q.point]
		x, has := w.effects[q]
		switch {
		case !ok || !has:
			e.few++
			continue
		case c.Stuck || x.broken || math.IsNaN(x.after):
			e.stuck++
			continue
		}
		// What leaves bounds alone is behind WithheldDeviation, and stays if both hold.
		e.deviations = append(e.deviations, c.Miss())
		why := w.doubt(q)
		if !c.Met() {
			e.missed++
			why = max(why, WithheldDeviation)
		}
		switch {
		case why == WithheldNone:
			e.clear, e.all = append(e.clear, w), append(e.all, w)
			continue
		case c.Miss() <= mostMissed:
			e.all = append(e.all, w)
		}
		e.doubts[why]++
	}
	slices.Sort(e.deviations)
	return e
}

// doubt returns why a window has bounds alone for a question, of several reasons the first one
// here. Which part of the time it takes to matter is the same for all that is waited for, a tenth:
// below that it widens the interval by its part, if at all. Missed deadlines decide a quantile of
// latency where at least half as many requests miss them as are longer than that: the p99 is the
// deadline then, until fewer are late (TestMissedDeadlines).
func (w *window) doubt(q question) Withheld {
	point := q.point
	switch {
	case w.harm[point] > mostHarm && !w.known(): // what is waited for in the replay is not what was
		return WithheldSlower
	case w.chosen || w.refused[point] || w.balanced[point] > doubt.MaxUndecided:
		return WithheldOffers
	case w.paused[point].Part > doubt.MaxUndecided || w.paused[point].Missed > beyond(q.metric)/2:
		return WithheldPauses
	case w.uncalled[point] > doubt.MaxUndecided:
		return WithheldChoices
	}
	return WithheldNone
}

// windows are what an answer comes from, and what speaks against them; none where there is no
// number, and why. With n clear windows, by what else there is:
//
//	n >= 5, as many or fewer missed or stuck   the clear ones, without a doubt
//	n >= 5, more missed or stuck               all, with the doubt of most
//	n < 5, two or more in all                  all, with the doubt of most, if there is any
//	fewer than two in all, or more stuck       no number
//
// Clear windows alone would be a choice by result where most windows miss: a few may meet the
// recording by chance.
func (e *judgement) windows() (_ []*window, why, withheld Withheld) {
	all := e.all
	switch n := len(e.clear); {
	case n >= doubt.LeastWindows && e.missed+e.stuck <= n: // of many windows, some would miss by chance
		return e.clear, WithheldNone, WithheldNone
	case e.asked < FewestWindows:
		return nil, WithheldNone, WithheldWindows
	case e.stuck > len(all):
		return nil, WithheldNone, WithheldStuck
	case len(all) < FewestWindows && e.missed >= e.few:
		return nil, WithheldNone, WithheldDeviation
	case len(all) < FewestWindows:
		return nil, WithheldNone, WithheldVisits
	}
	return all, e.mostDoubted(), WithheldNone
}

// mostDoubted is the reason against most windows, what leaves bounds alone before what was missed;
// none where all are clear, if few. Of reasons against as many windows it is the one that is
// declared last, so that the answer does not depend on the order of a map.
func (e *judgement) mostDoubted() Withheld {
	var why Withheld
	rank := func(w Withheld) int {
		if w == WithheldDeviation {
			return 0
		}
		return e.doubts[w]
	}
	for w := range e.doubts {
		if why == WithheldNone || cmp.Or(cmp.Compare(rank(w), rank(why)), cmp.Compare(w, why)) > 0 {
			why = w
		}
	}
	return why
}

// answer takes the ratio of totals over the windows, so that a window counts by its visits, and the
// interval from how the windows differ, and their recordings if these do so more. Any window must
// have been asked the question.
func (s *Study) answer(q question) Answer {
	e := s.judge(q)
	a := Answer{Region: q.region, Speedup: q.speedup, Held: q.held, Point: q.point, Metric: q.metric, Windows: e.asked, Missed: e.missed}
	// Before windows are chosen: by the ones that meet the recording alone it would be too small.
	if len(e.deviations) > 0 {
		a.Deviation = min(e.deviations[len(e.deviations)/2], mostDeviation)
	}
	windows, why, withheld := e.windows()
	if why == WithheldDeviation {
		// Of all together that may answer.
		near, _ := slices.BinarySearch(e.deviations, math.Nextafter(mostMissed, 1))
		a.Deviation = cond.Mean(e.deviations[:near])
	}
	// Samples without a number still show what single windows came to.
	if a.Withheld = withheld; withheld != WithheldNone {
		a.Samples = totalOf(e.clear, q, nil).samples
		if withheld == WithheldStuck || withheld == WithheldDeviation {
			s.outline(&a, q)
		}
		return a
	}
	// What only shows in all windows together comes after what speaks against each.
	changed := s.changed(q.ask)
	t := totalOf(windows, q, changed)
	by, alike := byOf(changed)
	switch rebuilt := len(changed) == 0; {
	case why > WithheldDeviation:
	case t.starved > trace.MostRebuilt || t.starved > trace.MostStarved && !rebuilt:
		why = WithheldStarved
	case t.strayed > sim.MostStrayed:
		why = WithheldChoices
	}
	// Nothing bounds what another structure brings, or one region against another.
	if why > WithheldDeviation && !alike {
		a.Withheld = why
		return a
	}
	a.Samples, a.Base, a.Doubt = t.samples, t.base, why
	a.Reduction = 1 - t.after/t.before
	a.bound(&t, by)
	if why > WithheldDeviation {
		a.hull(by, t.share, t.harm)
	}
	if a.Hi > 1 { // no time shrinks by more than all of it
		a.Hi, a.Reduction, a.Lo = 1, min(a.Reduction, 1), min(a.Lo, 1)
	}
	return a
}

// bound makes the interval: of how windows differ, by what else would meet them, and by what the
// model is wrong by. Windows cut from one recording resemble each other more than windows of
// several ones, so that six windows of two recordings may count as two
// (TestWindowsOfFewRecordings).
func (a *Answer) bound(t *total, by float64) {
	e := stats.Clustered(t.samples, t.recordings)
	a.StdErr = e.StdErr
	if a.Held {
		rerouted := stats.Clustered(t.rerouted, t.recordings)
		a.Rerouted, a.ReroutedErr = rerouted.Mean, rerouted.StdErr
	}
	// Margins that are parts of the period reach as far whatever the answer is. Those of the order
	// and of processor time are parts of the answer: what does not change keeps its order.
	margin := doubt.ModelError + a.Deviation + t.strayed + t.later + t.paused.Part + t.clock/t.base
	if t.ordered > hidden.Incidental {
		margin += orderError * math.Abs(a.Reduction)
		a.Bounded = true
	}
	margin += trace.StarvedError * t.starved * math.Abs(a.Reduction)
	a.Lo, a.Hi = a.Reduction-(e.Mean-e.Lo)-margin, a.Reduction+(e.Hi-e.Mean)+margin
	// Fewer processors to wake up than before: what each took is in the recorded waits, and may be
	// gone, too. Were there more, it would be simulated (TestRousing).
	if rousing := model.RouseError * t.roused; rousing < 0 {
		a.Hi -= rousing
	}
	// Collections add to either side. Variations and alternatives are answers of their own, and
	// have the same margin; a window without one has no part in their mean.
	a.Lo, a.Hi = a.Lo-t.less, a.Hi+t.more
	if len(t.soon) > 0 {
		a.Lo, a.Hi = min(a.Lo, cond.Mean(t.late)-margin), max(a.Hi, cond.Mean(t.soon)+margin)
	}
	if len(t.least) > 0 {
		a.Lo, a.Bounded = min(a.Lo, cond.Mean(t.least)-margin), true
	}
	if len(t.most) > 0 {
		a.Hi, a.Bounded = max(a.Hi, cond.Mean(t.most)+margin), true
	}
	if t.unseen > 0 {
		a.mayHave(by, t.unseen)
	}
	if t.paused.More && t.paused.Part > doubt.LeastUnclear { // what is gained may be waited for then
		a.Lo = min(a.Lo, -margin)
	}
}

// mayHave widens the interval by what spans of regions that are faster, or slower with by below 0,
// have less or more of if they waited for it: a part of the period.
func (a *Answer) mayHave(by, more float64) {
	if a.Metric != Throughput { // as in hull
		more = 1
	}
	a.Bounded = true
	if by > 0 {
		a.Hi += more
	} else {
		a.Lo -= more
	}
}

// hull widens the interval to what holds whatever goroutines wait for: a program that chooses
// nothing by its state becomes no slower by a faster region, and saves no more than that saves, see
// [total]; if the replay did become slower, to that. The period of such a program is the mean
// weight of a critical cycle ((max,+) algebra: Baccelli, Cohen, Olsder and Quadrat, Synchronization
// and Linearity, 1992). At each time the cycle is in one goroutine, so that spans open for 30 % of
// the time are at most 30 % of it: twice as fast they save 15 % at most, which is most. TestStarved
// and TestHarm hold it.
func (a *Answer) hull(by, most, harm float64) {
	if a.Metric != Throughput { // where requests queue, a little less of each may be all of the queue
		most = 1
	}
	lo, hi := -harm, most
	if by < 0 {
		lo, hi = -max(most, harm), 0
		if a.Metric != Throughput { // and a little more of each any queue
			lo = -mostDeviation
		}
	}
	a.Lo, a.Hi, a.Bounded = min(a.Lo, lo), max(a.Hi, hi), true
}

// outline gives an answer for which no replay speaks the bounds that need none, see hull: of
// throughput, with the middle for a number.
func (s *Study) outline(a *Answer, q question) {
	changed := s.changed(q.ask)
	by, alike := byOf(changed)
	if len(changed) == 0 || !alike || q.held || q.metric != Throughput {
		return
	}
	visits, base, share, unseen := 0.0, 0.0, 0.0, 0.0
	for _, w := range s.windows {
		if c, ok := w.checks[q.point]; ok && w.asked[q.ask] {
			n := float64(c.Visits)
			most, not := w.reach(changed)
			visits, base, share, unseen = visits+n, base+n*c.Period, share+n*most, unseen+n*not
		}
	}
	if visits == 0 || base == 0 {
		return
	}
	a.Withheld, a.Doubt, a.Base, a.Bounded = WithheldNone, a.Withheld, base/visits, true
	a.hull(by, share/visits, 0)
	if unseen > 0 {
		a.mayHave(by, unseen/visits)
	}
	a.Reduction = (a.Lo + a.Hi) / 2
	a.Lo, a.Hi = a.Lo-doubt.ModelError, min(1, a.Hi+doubt.ModelError)
}

// reach returns which part of the period changes with regions, at most: all time in which their
// spans were open, and what these waited for that is not known.
func (w *window) reach(changed []Speedup) (share, unseen float64) {
	most := 0.0
	for _, f := range changed {
		open, ok := w.shares[f.Region]
		if !ok { // of a region without spans it may be all of the time
			open = 1
		}
		share += open * math.Abs(f.By)
		unseen += min(w.unseen[f.Region], 1) * math.Abs(f.By)
		most = max(most, math.Abs(f.By))
	}
	return min(share, most), min(unseen, most)
}

// A total is the samples of windows for one question, together. Parts are means over their visits.
// Before and after are sums, ns times visits; base is what the answer is a part of, ns. Lists have
// one for each window, in order, but for bounds: only windows that have one. Ordered is that of the
// window with most, as an order that matters in one window may do so in any. Roused is by how many
// more processors are woken up for each ns.
type total struct {
	visits                          float64
	before, after, base             float64
	samples, rerouted               []float64
	recordings                      []int // of the samples
	least, most, soon, late         []float64
	ordered                         float64 // most
	starved, strayed, later, roused float64
	less, more                      float64 // by what begins since others are at it
	paused                          doubt.Delay
	clock                           float64 // by how much times of different processes may be off, ns
	// share is which part of the period changes if all time does in which spans of the regions were
	// open, on any goroutine: no more is saved than that. Unseen is the same of what they
	// waited for and is not known. Harm is by how much any region that is faster made the replay
	// slower where it is not known what all waits are for.
	share, unseen, harm float64
}

// totalOf sums up windows, each with a sample of the question and a check of its progress point. A
// run of windows with the same origin is one recording. Without windows the parts are not numbers.
// Changed are the regions that the question has faster or slower.
func totalOf(windows []*window, q question, changed []Speedup) (t total) {
	var last *trace.Origin
	recording := 0
	for _, w := range windows {
		c, x := w.checks[q.point], w.effects[q]
		t.samples, t.rerouted = append(t.samples, x.reduction()), append(t.rerouted, x.rerouted)
		if w.origin == nil || w.origin != last {
			last = w.origin
			recording++
		}
		t.recordings = append(t.recordings, recording-1)
		t.ordered = max(t.ordered, w.ordered)
		t.add(w, &c, &x, q, changed)
	}
	for _, part := range []*float64{&t.base, &t.starved, &t.strayed, &t.later, &t.less, &t.more, &t.paused.Part, &t.share, &t.unseen, &t.clock} {
		*part /= t.visits
	}
	t.roused /= t.before // the sum over the visits of both
	return t
}

// add adds a window, weighed by its visits; totalOf makes means of that.
func (t *total) add(w *window, c *doubt.Check, x *sample, q question, changed []Speedup) {
	visits := float64(x.visits)
	t.visits += visits
	t.before += x.before * visits
	t.after += x.after * visits
	for _, bound := range []struct {
		all *[]float64
		x   float64
	}{{&t.least, x.least}, {&t.most, x.most}, {&t.soon, x.soon}, {&t.late, x.late}} {
		if !math.IsNaN(bound.x) {
			*bound.all = append(*bound.all, bound.x)
		}
	}
	t.starved += w.Starved * visits
	t.strayed += x.strayed * visits
	t.later += x.later * visits
	t.clock += float64(w.clock) * visits
	t.roused += x.roused * visits
	t.less += moreOften(w.timely, x.reduction()) * visits
	less, more := garbage(w.Collected, x.reduction())
	t.less, t.more = t.less+less*visits, t.more+more*visits
	if d := w.paused[q.point]; d.Part > 0 {
		t.paused.Part += d.Part * visits
		t.paused.More = t.paused.More || d.More
	}
	share, unseen := w.reach(changed)
	t.share += share * visits
	t.unseen += unseen * visits
	// Where all waits are known a program that becomes slower is part of the answer, and no doubt.
	if !w.known() {
		t.harm = max(t.harm, w.harm[q.point])
	}
	now := x.before
	if q.metric == Throughput {
		now = c.Period
	}
	t.base += now * visits
}

// sharesOfRegions returns in which part of the recording any span of each region was open, in
// (0, 1], and nothing of regions without spans. Spans of which the beginning is not in the
// recording have been open since before; those without an end are open until the window's. Spans
// within spans count for both regions, as a span's time is not only its own (TestShares).
func sharesOfRegions(r *trace.Recording) map[trace.Region]float64 {
	type openness struct {
		spans      int   // open now
		since, sum int64 // ns
	}
	all := make([]openness, len(r.Regions))
	begun := make([]bool, len(r.Spans))
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case trace.EvOpen:
			begun[e.Ref] = true
		case trace.EvClose:
			if !begun[e.Ref] {
				all[r.Spans[e.Ref].Region].spans++
			}
		}
	}
	for i := range all {
		all[i].since = r.Start
	}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Kind != trace.EvOpen && e.Kind != trace.EvClose {
			continue
		}
		of := &all[r.Spans[e.Ref].Region]
		if of.spans > 0 {
			of.sum += e.At - of.since
		}
		of.since = e.At
		if e.Kind == trace.EvOpen {
			of.spans++
		} else {
			of.spans--
		}
	}
	shares := make(map[trace.Region]float64, len(all))
	for i, of := range all {
		if of.spans > 0 {
			of.sum += r.End - of.since
		}
		if of.sum > 0 {
			shares[r.Regions[i]] = float64(of.sum) / float64(r.End-r.Start)
		}
	}
	return shares
}
