package profile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/design"
	"github.com/otelprof/otelprof/internal/stats"
)

func (e Epoch) count(progress string, metric Metric) EpochCount {
	for _, c := range e.Counts {
		if c.Progress == progress && c.Metric == metric {
			return c
		}
	}
	return EpochCount{}
}

// neighbors are the placebos next to an epoch of one process that have something to compare.
func neighbors(all []Epoch, i int, has func(Epoch) bool) []design.Neighbor[Epoch] {
	number := func(place int) int64 { return all[place].Number }
	return design.Neighbors(all, i, number, func(e Epoch) bool { return e.Level == 0 && has(e) })
}

// A gain is what all processes counted in epochs in which one region was held. What the region
// would have taken is that of as long in placebos, not of as many visits.
type gain struct {
	visits  float64
	holders float64 // processes that have the region
	beside  float64 // own time of the region that has placebos, as Placed has theirs
	stats.Contrast

	// shares are the parts of placebos by their numbers, of one epoch and the first process with
	// any: those of others are as a rule the same.
	shares map[int64]float64
}

func (g *gain) add(d gain, sign float64) {
	g.visits += sign * d.visits
	g.holders += sign * d.holders
	g.beside += sign * d.beside
	g.Contrast = g.Plus(d.Contrast, sign)
}

func (g gain) elasticity() float64 { return g.Elasticity() }

// rerouted is by which part there was more of the region for each visit, for each part by which it
// was slower. Of visits that take longer there are fewer in an epoch.
func (g gain) rerouted() float64 {
	if g.Time <= 0 {
		return 0
	}
	slower := g.Slower()
	if placed := g.Placed * g.Base / g.Time; slower > 0 && placed > 0 {
		return (g.beside/placed - 1) / slower
	}
	return 0
}

// count adds an epoch of one process to a progress point, beside its own placebos: one
// process may have more to do than another, and may come later.
func (g *gain) count(all []Epoch, i int, progress string, metric Metric) {
	here := all[i].count(progress, metric)
	if here.Visits == 0 {
		return
	}
	next := neighbors(all, i, func(e Epoch) bool { return e.count(progress, metric).Visits > 0 })
	if len(next) == 0 {
		return
	}
	each := design.Mean(next, func(e Epoch) float64 {
		c := e.count(progress, metric)
		return float64(c.Sum) / float64(c.Visits)
	})
	g.visits += float64(here.Visits)
	g.Time += float64(here.Sum)
	g.Base += float64(here.Visits) * each
	if g.shares == nil {
		g.shares = map[int64]float64{}
		for _, n := range next {
			g.shares[n.Window.Number] = n.Part
		}
	}
}

// alike is by what factor the variance of the mean of gains is larger than if none shared a
// placebo with others: two that do are off to the same side. Epochs are taken to vary alike. Gains
// are in the order of time, so that only the next few can share.
//
//	placebo, 10 %, placebo, 10 %, placebo    (1.5 + 2*0.25) / 1.5 = 1.33 for many
func alike(all []gain) float64 {
	own, shared := 0.0, 0.0
	for i, g := range all {
		own++
		for number, part := range g.shares {
			own += part * part
			for _, next := range all[i+1 : min(len(all), i+1+2*design.Beside)] {
				shared += part * next.shares[number]
			}
		}
	}
	return 1 + 2*shared/own
}

// hold adds an epoch of one process that has the region to it: for how much longer its
// callers were held than in its placebos. An epoch in which it did not run counts: without those a
// rare region would be looked at only where it costs.
func (g *gain) hold(all []Epoch, i int) {
	here := all[i]
	same := func(e Epoch) bool { return e.Region == here.Region }
	ran := func(e Epoch) bool { return same(e) && e.Own > 0 }
	part := design.Mean(neighbors(all, i, ran), func(e Epoch) float64 { return float64(e.Taken) / float64(e.Own) })
	g.holders++
	g.Own += float64(here.Own)
	g.Taken += float64(here.Taken) - part*float64(here.Own)
	if next := neighbors(all, i, same); len(next) > 0 {
		g.beside += float64(here.Own)
		g.Placed += design.Mean(next, func(e Epoch) float64 { return float64(e.Own) })
	}
}

// A moment is an epoch of a plan.
type moment struct {
	plan   string
	number int64
}

// gains are what all processes counted about a question, by level, in the order of time. An epoch
// without a process that may have held the region, or without visits, is left out.
func gains(profiles []Profile, q question) map[float64][]gain {
	sums := map[float64]map[moment]*gain{}
	for _, p := range profiles {
		has := slices.ContainsFunc(p.Epochs, func(e Epoch) bool { return e.Region == q.region && e.Own > 0 })
		for i, e := range p.Epochs {
			if e.Level == 0 || e.Region != q.region {
				continue
			}
			if sums[e.Level] == nil {
				sums[e.Level] = map[moment]*gain{}
			}
			at := moment{p.PlanHash, e.Number}
			if sums[e.Level][at] == nil {
				sums[e.Level][at] = &gain{}
			}
			sums[e.Level][at].count(p.Epochs, i, q.progress, q.metric)
			if has {
				sums[e.Level][at].hold(p.Epochs, i)
			}
		}
	}
	all := map[float64][]gain{}
	for level, byMoment := range sums {
		for _, at := range slices.SortedFunc(maps.Keys(byMoment), func(a, b moment) int {
			return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.plan, b.plan))
		}) {
			if g := *byMoment[at]; g.visits > 0 && g.holders > 0 && g.Base > 0 {
				all[level] = append(all[level], g)
			}
		}
	}
	return all
}

// setFromEpochs replaces the slopes of a curve by those of all processes together, and reports
// whether there are any. How sure they are follows from how epochs differ.
func (c *Curve) setFromEpochs(profiles []Profile) bool {
	byLevel := gains(profiles, c.question())
	var total gain
	var slopes []Slope
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		of := byLevel[level]
		var sum gain
		for _, g := range of {
			sum.add(g, +1)
			total.add(g, +1)
		}
		if sum.Slower() <= 0 {
			continue
		}
		values := stats.PseudoValues(of, (*gain).add, gain.elasticity)
		s := NewSlope(level, sum.Slower(), values).LeastStdErr(stats.StdErrOfAlike(values, alike(of)))
		if len(of) >= stats.LeastSamples && c.metric() == MetricThroughput {
			ratio := stats.Summarize(stats.PseudoValues(of, (*gain).add, gain.rerouted))
			s.VisitRatio, s.VisitRatioErr = ratio.Mean, ratio.StdErr
		}
		slopes = append(slopes, s)
	}
	if len(slopes) == 0 {
		return false
	}
	c.Slopes = slopes
	c.Own, c.BasePeriod = time.Duration(total.Own/total.visits), time.Duration(total.Base/total.visits)
	return true
}
