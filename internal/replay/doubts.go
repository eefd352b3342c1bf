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

const (
	// FewestWindows give an answer, if a wide one, by Student's t.
	FewestWindows = 2
	// mostMissed is by which part the replay of nothing changed may miss a window that says
	// anything.
	mostMissed = 0.5
)

// A judgement is what the windows of a study say of one question.
type judgement struct {
	asked        int
	clear, doubt []*window        // what says something, without a doubt and with one
	doubts       map[Withheld]int // of how many windows
	few, stuck   int
	missed       int       // in doubt, or so far off that they say nothing
	deviations   []float64 // of all but the stuck ones
}

// judge judges all windows that were asked a question.
func (s *Study) judge(q question) judgement {
	e := judgement{doubts: map[Withheld]int{}}
	for _, w := range s.windows {
		if !w.asked[ask{q.region, q.speedup, q.held}] {
			continue
		}
		e.asked++
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
		e.deviations = append(e.deviations, c.Miss())
		why := w.doubt(q.point)
		if !c.Met() {
			e.missed++
			why = max(why, WithheldDeviation)
		}
		switch {
		case why == WithheldNone:
			e.clear = append(e.clear, w)
			continue
		case c.Miss() <= mostMissed:
			e.doubt = append(e.doubt, w)
		}
		e.doubts[why]++
	}
	slices.Sort(e.deviations)
	return e
}

// doubt returns why a window has bounds alone at a progress point.
func (w *window) doubt(point string) Withheld {
	switch {
	case w.harm[point] > mostHarm && !w.known(): // what is waited for in the replay is not what was
		return WithheldSlower
	case w.unruled > maxUnruled:
		return WithheldConditions
	case w.batched[point]:
		return WithheldBatches
	case w.refused[point]:
		return WithheldOffers
	case w.paused[point].Part > doubt.MaxUndecided:
		return WithheldPauses
	case w.undecided[point] > doubt.MaxUndecided:
		return WithheldChoices
	}
	return WithheldNone
}

// windows are what an answer comes from, and what speaks against them; none where there is no
// number, and why.
func (e *judgement) windows() (_ []*window, why, withheld Withheld) {
	all := slices.Concat(e.clear, e.doubt)
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

// near are the deviations of the windows that say something.
func (e *judgement) near() []float64 {
	i, _ := slices.BinarySearch(e.deviations, math.Nextafter(mostMissed, 1))
	return e.deviations[:i]
}

// mostDoubted is the reason against most windows, what leaves bounds alone before what was missed;
// none where all are clear, if few.
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
// interval from how the windows differ, and their recordings if these do so more.
func (s *Study) answer(q question) Answer {
	e := s.judge(q)
	a := Answer{Region: q.region, Speedup: q.speedup, Held: q.held, Point: q.point, Metric: q.metric, Windows: e.asked, Missed: e.missed}
	if len(e.deviations) > 0 {
		a.Deviation = e.deviations[len(e.deviations)/2]
	}
	windows, why, withheld := e.windows()
	if why == WithheldDeviation {
		a.Deviation = cond.Mean(e.near()) // of all together
	}
	if a.Withheld = withheld; withheld != WithheldNone {
		a.Samples = totalOf(e.clear, q).samples
		return a
	}
	t := totalOf(windows, q)
	rebuilt := q.region.Scope == QuestionScope
	switch {
	case why != WithheldNone:
	case t.starved > trace.MostRebuilt || t.starved > trace.MostStarved && !rebuilt:
		why = WithheldStarved
	case t.strayed > sim.MostStrayed:
		why = WithheldChoices
	}
	if why > WithheldDeviation && rebuilt { // nothing bounds what another structure brings
		a.Withheld = why
		return a
	}
	a.Samples, a.Base, a.Doubt = t.samples, t.base, why
	a.Reduction = 1 - t.after/t.before
	a.bound(&t)
	if why > WithheldDeviation {
		a.hull(t.share, t.harm)
	}
	if a.Hi > 1 { // no time shrinks by more than all of it
		a.Hi, a.Reduction, a.Lo = 1, min(a.Reduction, 1), min(a.Lo, 1)
	}
	return a
}

// bound makes the interval: of how windows differ, by what else would meet them, and by what the
// model is wrong by.
func (a *Answer) bound(t *total) {
	e := stats.Clustered(t.samples, t.recordings)
	a.StdErr = e.StdErr
	if a.Held {
		rerouted := stats.Clustered(t.rerouted, t.recordings)
		a.Rerouted, a.ReroutedErr = rerouted.Mean, rerouted.StdErr
	}
	margin := doubt.ModelError + a.Deviation + t.strayed + t.later + t.paused.Part
	if t.ordered > hidden.Incidental {
		margin += orderError * math.Abs(a.Reduction)
		a.Bounded = true
	}
	margin += trace.StarvedError * t.starved * math.Abs(a.Reduction)
	a.Lo, a.Hi = a.Reduction-(e.Mean-e.Lo)-margin, a.Reduction+(e.Hi-e.Mean)+margin
	if rousing := model.RouseError * t.roused; rousing < 0 {
		a.Hi -= rousing
	}
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
	if t.paused.More && t.paused.Part > doubt.LeastUnclear { // what is gained may be waited for then
		a.Lo = min(a.Lo, -margin)
	}
}

// hull widens the interval to what holds whatever goroutines wait for: a program that chooses
// nothing by its state becomes no slower by a faster region, and saves no more than that saves, see
// [total]; if the replay did become slower, to that.
func (a *Answer) hull(share, harm float64) {
	most := min(share, 1) * math.Abs(a.Speedup)
	if a.Metric != Throughput { // where requests queue, a little less of each may be all of the queue
		most = 1
	}
	lo, hi := -harm, most
	if a.Speedup < 0 {
		lo, hi = -max(most, harm), 0
	}
	a.Lo, a.Hi, a.Bounded = min(a.Lo, lo), max(a.Hi, hi), true
}

// A total is what windows say of one question, together. Parts are means over their visits.
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
	// share is for which part of the time spans of the region were open, all goroutines together:
	// it saves no more than that. Harm is by how much any region that is faster made the replay
	// slower where it is not known what all waits are for.
	share, harm float64
}

func totalOf(windows []*window, q question) (t total) {
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
		t.add(w, &c, &x, q)
	}
	for _, part := range []*float64{&t.base, &t.starved, &t.strayed, &t.later, &t.less, &t.more, &t.paused.Part, &t.share} {
		*part /= t.visits
	}
	t.roused /= t.before // the sum over the visits of both
	return t
}

func (t *total) add(w *window, c *doubt.Check, x *sample, q question) {
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
	t.roused += x.roused * visits
	for i := range w.stampedes {
		l, m := bounds(&w.stampedes[i], q, x.reduction())
		t.less, t.more = t.less+l*visits, t.more+m*visits
	}
	if d := w.paused[q.point]; d.Part > 0 {
		t.paused.Part += d.Part * visits
		t.paused.More = t.paused.More || d.More
	}
	t.share += w.shareOf(q.region) * visits
	if !w.known() {
		t.harm = max(t.harm, w.harm[q.point])
	}
	now := x.before
	if q.metric == Throughput {
		now = c.Period
	}
	t.base += now * visits
}

// shareOf is for which part of the window spans of a region were open, all goroutines together; all
// of it where the region has no spans.
func (w *window) shareOf(r trace.Region) float64 {
	if share, ok := w.shares[r]; ok {
		return share
	}
	return 1
}

// sharesOfRegions returns that of each region. Spans of which the beginning is not in the recording
// have been open since before.
func sharesOfRegions(r *trace.Recording) map[trace.Region]float64 {
	sums := make([]int64, len(r.Regions)) // ns
	begun := make([]int64, len(r.Spans))
	for i := range begun {
		begun[i] = r.Start
	}
	ended := make([]bool, len(r.Spans))
	seen := make([]bool, len(r.Spans))
	for i := range r.Events {
		switch e := &r.Events[i]; e.Kind {
		case trace.EvOpen:
			begun[e.Ref], seen[e.Ref] = e.At, true
		case trace.EvClose:
			sums[r.Spans[e.Ref].Region] += e.At - begun[e.Ref]
			ended[e.Ref] = true
		}
	}
	for i, s := range r.Spans {
		if seen[i] && !ended[i] {
			sums[s.Region] += r.End - begun[i]
		}
	}
	shares := make(map[trace.Region]float64, len(sums))
	for i, sum := range sums {
		if sum > 0 {
			shares[r.Regions[i]] = float64(sum) / float64(r.End-r.Start)
		}
	}
	return shares
}
