package profile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/stats"
)

// Finish derives what needs all curves, once they have their effects: slopes and knees, which
// of them are significant, where modes disagree, the verdicts and the order, also that of epochs.
func (p *Profile) Finish() { p.FinishResting(func() {}) }

// FinishResting is Finish within a program that serves others: it calls due for each curve, some µs
// apart, on the same goroutine, so that it can leave the processor to them.
func (p *Profile) FinishResting(due func()) {
	p.Epochs = inOrder(p.Epochs)
	for i := range p.Curves {
		due()
		c := &p.Curves[i]
		slices.SortStableFunc(c.Effects, func(a, b Effect) int { return cmp.Compare(a.Speedup, b.Speedup) })
	}
	p.confirm()
	for i := range p.Curves {
		c := &p.Curves[i]
		if small, _, known := c.levels(); known && c.Mode == ModeSlowdown { // what bounds from both sides shows no knee
			c.Slope, c.Knee = small.Elasticity, 0
		} else {
			k := bendOf(c.measured())
			c.Slope, c.Knee = k.slope, k.at
		}
		c.Disagrees = nil
	}
	p.testRegions(due)
	p.compareModes()
	for i := range p.Curves {
		due()
		c := &p.Curves[i]
		c.Verdict, c.Evidence = c.judge(), c.evidence()
		for k, e := range c.Effects {
			c.Effects[k] = e.judged(c.metric())
		}
	}
	for i, c := range p.Changes {
		p.Changes[i].Effect = c.Effect.judged(c.Metric)
	}
	p.order()
	p.orderChanges()
}

// A question is what the curves of several modes answer.
type question struct {
	region   Region
	progress string
	metric   Metric
}

func (c Curve) question() question { return question{c.Region, c.Progress, c.Metric} }

// testRegions compares the regions of each mode, progress point and metric.
func (p *Profile) testRegions(due func()) {
	type family struct {
		mode     Mode
		progress string
		metric   Metric
	}
	families := map[family][]int{}
	for i, c := range p.Curves {
		f := family{c.Mode, c.Progress, c.Metric}
		p.Curves[i].PValue, p.Curves[i].Significant = 1, false
		if c.answered() {
			families[f] = append(families[f], i)
		}
	}
	for _, members := range families {
		values := make([]float64, len(members))
		for k, i := range members {
			due()
			values[k] = p.Curves[i].pValue()
		}
		for k, v := range stats.BenjaminiHochberg(values) {
			c := &p.Curves[members[k]]
			// What the model may be wrong by is no discovery either.
			c.PValue, c.Significant = v, v <= falseDiscoveries && len(c.certain()) > 0
		}
		p.rank(members)
	}
}

// rank finds the curve that leads among some, without those of progress points' own spans, by which
// all work is done.
func (p *Profile) rank(members []int) {
	var of []Curve
	var at []int
	for _, i := range members {
		p.Curves[i].Leads = false
		if !p.Curves[i].ofItself() {
			of, at = append(of, p.Curves[i]), append(at, i)
		}
	}
	best := -1
	for k, c := range of {
		if best < 0 || c.strength() > of[best].strength() {
			best = k
		}
	}
	if best >= 0 {
		p.Curves[at[best]].Leads = of[best].leadsAlone(slices.Delete(slices.Clone(of), best, best+1))
	}
}

// agreeWithin is how far intervals may lie apart before it matters: 1 point.
const agreeWithin = 0.01

// compareModes notes where two modes answer the same question with intervals that lie apart.
func (p *Profile) compareModes() {
	byQuestion := map[question][]int{}
	for i, c := range p.Curves {
		byQuestion[c.question()] = append(byQuestion[c.question()], i)
	}
	for i := range p.Curves {
		c := &p.Curves[i]
		for _, k := range byQuestion[c.question()] {
			other := p.Curves[k]
			if other.Mode == c.Mode || slices.Contains(c.Disagrees, other.Mode) {
				continue
			}
			if _, _, ok := apart(*c, other); ok {
				c.Disagrees = append(c.Disagrees, other.Mode)
			}
		}
		slices.Sort(c.Disagrees)
	}
}

// apart returns the first effects of one speed-up whose intervals lie apart.
func apart(a, b Curve) (x, y Effect, found bool) {
	for _, x := range a.measured() {
		for _, y := range b.measured() {
			if x.Speedup == y.Speedup && max(x.Lo-y.Hi, y.Lo-x.Hi) > agreeWithin {
				return x, y, true
			}
		}
	}
	return Effect{}, Effect{}, false
}

// order puts throughput first, then the questions with the strongest answers, and in each the
// experiments before what was computed.
func (p *Profile) order() {
	strongest := map[question]Curve{}
	for _, c := range p.Curves {
		if s, ok := strongest[c.question()]; !ok || c.certainty() > s.certainty() {
			strongest[c.question()] = c
		}
	}
	slices.SortStableFunc(p.Curves, func(a, b Curve) int {
		return cmp.Or(
			cmp.Compare(a.Metric.rank(), b.Metric.rank()),
			cmp.Compare(strongest[b.question()].strength(), strongest[a.question()].strength()),
			cmp.Compare(a.Progress, b.Progress),
			cmp.Compare(a.Region.Name, b.Region.Name),
			cmp.Compare(a.Region.Scope, b.Region.Scope),
			cmp.Compare(a.Mode.rank(), b.Mode.rank()),
		)
	})
}

// rank orders throughput before latencies.
func (m Metric) rank() string {
	if m == MetricThroughput {
		return ""
	}
	return string(m)
}

// strength orders curves: the reduction for each part of speed-up, where regions are ranked.
func (c Curve) strength() float64 {
	e, ok := c.first()
	if !ok {
		return -1
	}
	return e.Reduction / e.Speedup
}

// disagreement returns notes on where a curve and the curves of other modes lie apart.
func (p Profile) disagreement(c Curve) (notes []string) {
	for _, other := range p.Curves {
		if other.question() != c.question() || other.Mode.rank() <= c.Mode.rank() {
			continue
		}
		if x, y, ok := apart(c, other); ok {
			notes = append(notes, fmt.Sprintf("%s → %s (%s): %.3g %% faster gives %s by %s, but %s by %s",
				naming.OneLine(c.Region.Name), naming.OneLine(c.Progress), c.Metric, 100*x.Speedup, x.interval(), c.Mode, y.interval(), other.Mode))
		}
	}
	return notes
}

// interval writes the reduction in percent with its bounds.
func (e Effect) interval() string {
	return fmt.Sprintf("%.1f (%.1f .. %.1f)", 100*e.Reduction, 100*e.Lo, 100*e.Hi)
}
