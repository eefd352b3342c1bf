package foretold

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
)

const (
	// changed is by how much of its own time a region must have changed for an outcome, in parts.
	changed = 0.05
	// likeLoad is by how much the load may differ: more makes requests slower by itself. In an open
	// loop that is how many come in a second, in a closed one how many there are at a time
	// (Little's law): the one that differs less counts.
	likeLoad = 0.2
	// beside is by how much of its own time any other region differs by chance. All beyond that
	// together must be less than alone of what the region has less.
	beside, alone = 0.1, 0.25
	// tolerance is what the two versions' own scatter adds to an interval.
	tolerance = 0.01
	// leastLasted is how long a version must have run, and leastCount how many spans a region must
	// have.
	leastLasted = 30 * time.Second
	leastCount  = 100
)

// The verdicts of an outcome, see [profile.Outcome].
const (
	held          = "held"
	missed        = "missed"
	otherLoad     = "other_load"
	othersChanged = "others_changed"
)

// Outcomes returns of each version of a service, and of the one that runs now, what the version
// before had foretold of its largest change, and what came. The last is first. What a version
// measures or foretells after a later one has come, as where that is taken back, does not count.
func Outcomes(records []Record, now Record) (all []profile.Outcome) {
	var versions []Record // one of each, in the order of their first
	for _, r := range append(slices.Clone(records), now) {
		if r.Lasted < leastLasted {
			continue
		}
		if i := slices.IndexFunc(versions, func(v Record) bool { return v.Version == r.Version }); i >= 0 {
			if i == len(versions)-1 {
				versions[i] = r.after(versions[i])
			}
			continue
		}
		versions = append(versions, r)
	}
	for i := len(versions) - 1; i > 0; i-- {
		all = append(all, between(versions[i-1], versions[i])...)
	}
	return all
}

// after is a later record of the same version, by another process perhaps: what was foretold is
// that of the last one that has something, and what was measured that of the one that lasted
// longest.
func (r Record) after(before Record) Record {
	if len(r.Curves) == 0 {
		r.Curves = before.Curves
	}
	if r.Lasted < before.Lasted {
		before.Curves = r.Curves
		return before
	}
	return r
}

// between are the outcomes of one change, of all progress points and metrics that were asked about.
func between(before, after Record) (all []profile.Outcome) {
	was, is := byRegion(before), byRegion(after)
	for _, c := range before.Curves {
		old, known := was[c.Region]
		now, has := is[c.Region]
		if !known || !has || old.Count < leastCount || now.Count < leastCount || old.Self <= 0 {
			continue
		}
		faster := 1 - now.Self/old.Self
		if faster < changed {
			continue
		}
		o := profile.Outcome{From: before.Version, To: after.Version, Region: c.Region, Faster: faster, Progress: c.Progress, Metric: c.Metric}
		var ok bool
		if o.Foretold, o.Lo, o.Hi, ok = c.at(faster); !ok {
			continue
		}
		if o.Came, o.Load, ok = came(before, after, c.Progress, c.Metric); !ok {
			continue
		}
		o.Verdict = verdict(o, was, is)
		all = append(all, o)
	}
	// Of several regions that have changed, the one that was to matter most is the change.
	slices.SortStableFunc(all, func(a, b profile.Outcome) int {
		return cmp.Or(cmp.Compare(a.Progress, b.Progress), cmp.Compare(a.Metric, b.Metric), cmp.Compare(b.Foretold, a.Foretold))
	})
	return slices.CompactFunc(all, func(a, b profile.Outcome) bool { return a.Progress == b.Progress && a.Metric == b.Metric })
}

func verdict(o profile.Outcome, was, is map[profile.Region]Measured) string {
	// What others take for each span of the region, ns, and how much of that is not by chance.
	var moved float64
	for region, old := range was {
		if region == o.Region || region.Name == o.Progress { // whose own time is mostly waiting
			continue
		}
		before := old.Self * float64(old.Count) / float64(was[o.Region].Count)
		now := is[region].Self * float64(is[region].Count) / float64(is[o.Region].Count)
		if d := math.Abs(now - before); d > beside*before {
			moved += d
		}
	}
	if moved > alone*(was[o.Region].Self-is[o.Region].Self) {
		return othersChanged
	}
	switch {
	case math.Abs(o.Load) > likeLoad:
		return otherLoad
	case o.Came < o.Lo-tolerance || o.Came > o.Hi+tolerance:
		return missed
	}
	return held
}

func byRegion(r Record) map[profile.Region]Measured {
	all := map[profile.Region]Measured{}
	for _, m := range r.Regions {
		all[m.Region] = m
	}
	return all
}

// at is what a curve has at a speed-up, straight between its points, from nothing on; beyond the
// last it has nothing.
func (c Curve) at(speedup float64) (reduction, lo, hi float64, ok bool) {
	last := Effect{}
	for _, e := range c.Effects {
		if e.Speedup >= speedup {
			part := (speedup - last.Speedup) / (e.Speedup - last.Speedup)
			between := func(a, b float64) float64 { return a + part*(b-a) }
			return between(last.Reduction, e.Reduction), between(last.Lo, e.Lo), between(last.Hi, e.Hi), true
		}
		last = e
	}
	return 0, 0, 0, false
}

// came is by which part the time between visits of a progress point, or its latency, has shrunk,
// and by which the load has grown.
func came(before, after Record, progress string, metric profile.Metric) (reduction, load float64, ok bool) {
	find := func(r Record) (Measured, bool) {
		i := slices.IndexFunc(r.Regions, func(m Measured) bool { return m.Region.Name == progress })
		if i < 0 || r.Regions[i].Count < leastCount {
			return Measured{}, false
		}
		return r.Regions[i], true
	}
	old, had := find(before)
	now, has := find(after)
	if !had || !has {
		return 0, 0, false
	}
	of := func(r Record, m Measured) float64 {
		switch metric {
		case profile.MetricThroughput:
			return float64(r.Lasted) / float64(m.Count)
		case profile.MetricLatencyP50:
			return m.P50
		case profile.MetricLatencyP90:
			return m.P90
		case profile.MetricLatencyP99:
			return m.P99
		}
		return 0
	}
	a, b := of(before, old), of(after, now)
	if a <= 0 || b <= 0 {
		return 0, 0, false
	}
	rate := func(r Record, m Measured) float64 { return float64(m.Count) / float64(r.Lasted) }
	arrivals := rate(after, now)/rate(before, old) - 1
	atATime := (1+arrivals)*now.Mean/max(old.Mean, 1) - 1
	if math.Abs(arrivals) < math.Abs(atATime) {
		return 1 - b/a, arrivals, true
	}
	return 1 - b/a, atATime, true
}

// Calibration is how many of the outcomes that can be judged have held.
func Calibration(all []profile.Outcome) (within, of int) {
	for _, o := range all {
		switch o.Verdict {
		case held:
			within++
			of++
		case missed:
			of++
		}
	}
	return within, of
}
