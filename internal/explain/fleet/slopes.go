package fleet

import (
	"cmp"
	"context"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/stats"
)

// counts are what was counted for one region at one level, or in its placebos: visits, and times in
// s.
type counts struct{ visits, effective, delay, own float64 }

func (c *counts) add(d counts, sign float64) {
	c.visits += sign * d.visits
	c.effective += sign * d.effective
	c.delay += sign * d.delay
	c.own += sign * d.own
}

// set takes the value of a counter, by its name in Prometheus.
func (c *counts) set(name string, v float64) {
	switch name {
	case promProgress:
		c.visits = v
	case promEffective:
		c.effective = v
	case promDelay:
		c.delay = v
	case promOwn:
		c.own = v
	}
}

// A stretch is what one instance counted in a stretch of time: with a region slower by a level, and
// in the placebos of that region.
type stretch struct {
	at             float64
	slowed, placed counts
}

func (s *stretch) add(d stretch, sign float64) {
	s.slowed.add(d.slowed, sign)
	s.placed.add(d.placed, sign)
}

// whole reports whether there are visits to compare.
func (s stretch) whole() bool { return s.slowed.visits > 0 && s.placed.visits > 0 }

// holding is what an instance without visits held the region for, where so many times as many
// visits were counted elsewhere as in the placebos.
func (s stretch) holding(visits float64) stats.Contrast {
	c := stats.Contrast{Taken: s.slowed.delay, Own: s.slowed.own, Placed: s.placed.own * visits}
	if s.placed.own > 0 {
		c.Taken -= s.placed.delay * s.slowed.own / s.placed.own
	}
	return c
}

// contrast is what the stretches of one instance come to, beside its own placebos: one instance may
// have more to do than another.
func (s stretch) contrast() stats.Contrast {
	if !s.whole() {
		return stats.Contrast{}
	}
	visits := s.slowed.visits / s.placed.visits
	return stats.Contrast{
		Time: s.slowed.effective, Base: s.placed.effective * visits,
		Taken: s.slowed.delay - s.placed.delay*visits, Own: s.slowed.own, Placed: s.placed.own * visits,
	}
}

// A block is a stretch of one instance, by its number.
type block struct {
	at       float64 // its end, s since 1970
	instance int
	stretch
}

// total is what blocks come to, and by instance what they add up to.
func total(blocks []block) (sum stats.Contrast, byInstance map[int]stretch) {
	byInstance = map[int]stretch{}
	for _, b := range blocks {
		s := byInstance[b.instance]
		s.add(b.stretch, +1)
		byInstance[b.instance] = s
	}
	for _, i := range slices.Sorted(maps.Keys(byInstance)) {
		sum = sum.Plus(byInstance[i].contrast(), +1)
	}
	return sum, byInstance
}

// pseudoValues are the jackknife's, as [stats.PseudoValues], in time linear in the blocks. Held is
// what instances without visits did, which others counted.
func pseudoValues(blocks []block, held stats.Contrast, of func(stats.Contrast) float64) []float64 {
	sum, byInstance := total(blocks)
	sum = sum.Plus(held, +1)
	n, all := float64(len(blocks)), of(sum)
	if n == 1 {
		return []float64{all}
	}
	values := make([]float64, len(blocks))
	for i, b := range blocks {
		rest := byInstance[b.instance]
		without := sum.Plus(rest.contrast(), -1)
		rest.add(b.stretch, -1)
		values[i] = n*all - (n-1)*of(without.Plus(rest.contrast(), +1))
	}
	return values
}

// A history is how the counters of one cell rose in one instance, by time in s since 1970.
type history map[float64]*counts

// rises are what was added between two moments, by the later one. A counter that falls has begun
// anew, but for what was asked for at no moment: that is older than the last one, by a scrape or
// two.
func (h history) rises() map[float64]counts {
	rises, last := map[float64]counts{}, counts{}
	for _, at := range slices.Sorted(maps.Keys(h)) {
		now := h[at]
		rise := *now
		fell := now.visits < last.visits || now.effective < last.effective || now.delay < last.delay || now.own < last.own
		switch {
		case !fell:
			rise.add(last, -1)
		case math.IsInf(at, 1):
			rise = counts{}
		}
		rises[at], last = rise, *now
	}
	return rises
}

// slopes are how a progress point answers to one region that is slower, from the sums of all
// instances. How sure that is follows from how stretches of time, of each instance, differ.
type slopes struct {
	all   counts // with the region slower, at any level
	found []profile.Slope
}

// slopesOf estimates from the histories of a region's cells, by instance and level; level 0 is that
// of the placebos.
func slopesOf(byInstance map[string]map[float64]history) (s slopes) {
	byLevel, holders := map[float64][]block{}, map[float64][]stretch{}
	for i, instance := range slices.Sorted(maps.Keys(byInstance)) {
		histories := byInstance[instance]
		placed := histories[0].rises()
		for level, h := range histories {
			if level == 0 {
				continue
			}
			whole, rest := wholeOnes(h.rises(), placed)
			for _, one := range whole {
				s.all.add(one.slowed, +1)
				byLevel[level] = append(byLevel[level], block{one.at, i, one})
			}
			if len(whole) == 0 {
				s.all.own += rest.slowed.own
				holders[level] = append(holders[level], rest)
			}
		}
	}
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		blocks := byLevel[level]
		slices.SortStableFunc(blocks, func(a, b block) int { return cmp.Compare(a.at, b.at) })
		sum, _ := total(blocks)
		var held stats.Contrast
		for _, h := range holders[level] {
			held = held.Plus(h.holding(visitsOf(blocks)), +1)
		}
		sum = sum.Plus(held, +1)
		if sum.Slower() <= 0 { // it was not slower: what that costs is not known
			continue
		}
		slope := profile.NewSlope(level, sum.Slower(), pseudoValues(blocks, held, stats.Contrast.Elasticity))
		if len(blocks) >= stats.LeastSamples {
			ratio := stats.Summarize(pseudoValues(blocks, held, stats.Contrast.Rerouted))
			slope.VisitRatio, slope.VisitRatioErr = ratio.Mean, ratio.StdErr
		}
		if most := max(math.Abs(slope.Lo), math.Abs(slope.Hi)); most < mostElasticity {
			s.found = append(s.found, slope)
		}
	}
	return s
}

// mostElasticity is beyond all that a region can do to a progress point: what is more is of delays
// that hardly were.
const mostElasticity = 1000

// setOn gives a curve the slopes, and how the region waits, nil where no instance has that. Effects
// are what the instances have computed; where none has one, they follow from the slopes.
func (s slopes) setOn(c *profile.Curve, waits map[string]float64) {
	c.Slopes = s.found
	c.Inside, c.Awaited, c.Served = waits == nil || waits["inside"] > 0, waits["awaited"], waits["served"]
	c.Overtaken, c.Behind, c.HoldsUp = waits["overtaken"], waits["processor"], waits["others"]
	if s.all.visits > 0 {
		c.Own = seconds(s.all.own / s.all.visits)
	}
	if len(c.Effects) == 0 {
		c.Expiring = waits["deadlines"] // which is in what instances have computed
		c.AnswerFromSlopes([]float64{profile.Near, 0.25, 0.5})
	}
}

// visitsOf is how many times as many visits there were with the region slower as in its placebos.
func visitsOf(blocks []block) float64 {
	var sum stretch
	for _, b := range blocks {
		sum.add(b.stretch, +1)
	}
	return sum.slowed.visits / sum.placed.visits
}

// wholeOnes puts what rose in both cells together, as long as it takes to have something to
// compare. What is left over at the end goes to the last, and is the rest where there is none.
func wholeOnes(slowed, placed map[float64]counts) (all []stretch, rest stretch) {
	times := slices.AppendSeq(slices.Collect(maps.Keys(slowed)), maps.Keys(placed))
	slices.Sort(times)
	var open stretch
	for _, at := range slices.Compact(times) {
		open.at = at
		open.add(stretch{slowed: slowed[at], placed: placed[at]}, +1)
		if open.whole() {
			all = append(all, open)
			open = stretch{}
		}
	}
	if len(all) > 0 {
		all[len(all)-1].add(open, +1)
	}
	return all, open
}

const (
	// pageSeries is how many series one question is about: an hour of each is some 12 KB of an
	// answer.
	pageSeries = 4000
	// mostSeries is about how many is asked in all. An hour of each takes some 6 KB of memory.
	mostSeries = 4 * pageSeries
)

// histories asks how the counters of slow-downs rose: for as long as a plan lasts at most, in steps
// of the time between two exports, page by page. What they have come to is among all.
func (s Prometheus) histories(ctx context.Context, b *profileBuilder, all []promSeries) error {
	names := []string{promProgress, promEffective, promDelay, promOwn}
	var last []promSeries
	for _, one := range all {
		if one.labels[promMode] == string(profile.ModeSlowdown) && slices.Contains(names, one.labels["__name__"]) {
			last = append(last, promSeries{labels: one.labels, values: []promValue{{math.Inf(1), one.value}}})
		}
	}
	if len(last) == 0 {
		return nil
	}
	matchers := `__name__=~"` + strings.Join(names, "|") + `",` + promMode + `="` + string(profile.ModeSlowdown) + `",` + promPlan + `=~` + strconv.Quote("|"+regexp.QuoteMeta(b.plan))
	sizes, err := s.query(ctx, "count by ("+promInstance+") (last_over_time("+s.selector(matchers)+"[1h]))", "vector")
	if err != nil {
		return err
	}
	asked, left := pages(sizes)
	b.left = left
	for _, page := range asked {
		before, err := s.query(ctx, s.selector(matchers+","+promInstance+`=~`+strconv.Quote(page))+"[1h:10s]", "matrix")
		if err != nil {
			return err
		}
		if err := b.rose(before); err != nil {
			return err
		}
	}
	return b.rose(last)
}

// pages returns patterns of instances, each of as many as have at most pageSeries together, from
// how many series each has. Left are the instances that have more, or are beyond mostSeries.
func pages(sizes []promSeries) (asked, left []string) {
	slices.SortFunc(sizes, func(a, b promSeries) int { return cmp.Compare(a.labels[promInstance], b.labels[promInstance]) })
	room, all := 0, 0
	for _, one := range sizes {
		name, n := one.labels[promInstance], max(1, int(min(one.value, mostSeries+1)))
		switch pattern := regexp.QuoteMeta(name); {
		case n > pageSeries || n > mostSeries-all:
			left = append(left, name)
			continue
		case n > room:
			asked, room = append(asked, pattern), pageSeries
		default:
			asked[len(asked)-1] += "|" + pattern
		}
		room, all = room-n, all+n
	}
	return asked, left
}

// rose adds how counters rose, each in one instance.
func (b *profileBuilder) rose(list []promSeries) error {
	for _, s := range list {
		if !b.ofPlan(s) {
			continue
		}
		c, err := s.cell()
		if err != nil {
			return err
		}
		h := b.history(c, s.instance())
		for _, v := range s.values {
			if err := s.counted(v.value); err != nil {
				return err
			}
			if h[v.at] == nil {
				h[v.at] = &counts{}
			}
			h[v.at].set(s.labels["__name__"], v.value)
		}
	}
	return nil
}

// history returns that of a cell in one instance, a new one where there is none.
func (b *profileBuilder) history(c cell, instance string) history {
	level := c.speedup
	c.speedup, c.metric = 0, profile.MetricThroughput
	if b.histories[c] == nil {
		b.histories[c] = map[string]map[float64]history{}
	}
	byLevel := b.histories[c][instance]
	if byLevel == nil {
		byLevel = map[float64]history{}
		b.histories[c][instance] = byLevel
	}
	if byLevel[level] == nil {
		byLevel[level] = history{}
	}
	return byLevel[level]
}
