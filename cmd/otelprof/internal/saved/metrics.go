package saved

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// A seriesKey is one metric of one region in one process.
type seriesKey struct {
	metric  string
	unit    string // of the counters
	source  string // of the counters
	process string // all of the resource
	variant string // schema URL and attributes of the scope
	regionKey
}

// maxSeries bounds the series kept.
const maxSeries = 50_000

// A series is the points of one metric: deltas are added up, of cumulative ones the last of
// each start counts, since a process that starts anew counts from zero.
type series struct {
	deltas point
	runs   map[pcommon.Timestamp]*run
}

type run struct {
	at pcommon.Timestamp
	point
}

// A point is the value of a counter, or a distribution.
type point struct {
	value     float64
	durations *otelhdr.Snapshot
	// raw is a distribution that has not been converted, since another may replace it.
	raw pmetric.ExponentialHistogramDataPoint
}

// metrics are the series of regions.
type metrics struct {
	series   map[seriesKey]*series
	coarsest int32 // scale of the distributions of durations
}

// takeMetrics takes all points of one object that are about regions.
func (r *Reader) takeMetrics(doc document, at *FileReport) {
	md, err := new(pmetric.JSONUnmarshaler).UnmarshalMetrics(doc.text)
	if err != nil {
		at.add(doc.damaged(err))
		return
	}
	for _, rm := range md.ResourceMetrics().All() {
		service := r.words.one(serviceOf(rm.Resource()))
		if !r.wants(service) {
			continue
		}
		process := processOf(rm.Resource())
		for _, sm := range rm.ScopeMetrics().All() {
			if name := sm.Scope().Name(); name != naming.SpansScope && name != naming.CountersScope {
				continue
			}
			r.services[service] = true
			for _, m := range sm.Metrics().All() {
				key := seriesKey{metric: m.Name(), process: process, regionKey: regionKey{service: service}}
				if sm.Scope().Name() == naming.CountersScope {
					key.unit = m.Unit()
				}
				r.takeMetric(m, key, doc, at)
			}
		}
	}
}

func (r *Reader) takeMetric(m pmetric.Metric, key seriesKey, doc document, at *FileReport) {
	switch m.Type() {
	case pmetric.MetricTypeExponentialHistogram:
		h := m.ExponentialHistogram()
		for _, p := range h.DataPoints().All() {
			s := r.metrics.of(key.with(p.Attributes()), at)
			if s == nil {
				continue
			}
			if err := checkPoint(p); err != nil {
				at.add(doc.problem(err))
				continue
			}
			at.Points++
			if key.metric == naming.RegionDurationMetric {
				r.metrics.coarsest = min(r.metrics.coarsest, p.Scale())
			}
			if h.AggregationTemporality() != pmetric.AggregationTemporalityDelta {
				if run := s.run(p.StartTimestamp(), p.Timestamp()); run != nil {
					run.raw = pmetric.NewExponentialHistogramDataPoint()
					p.MoveTo(run.raw)
				}
				continue
			}
			if err := s.deltas.merge(p, key.unitScale()); err != nil {
				at.add(doc.problem(err))
			}
		}
	case pmetric.MetricTypeSum:
		for _, p := range m.Sum().DataPoints().All() {
			s := r.metrics.of(key.with(p.Attributes()), at)
			if s == nil {
				continue
			}
			at.Points++
			value := p.DoubleValue()
			if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
				value = float64(p.IntValue())
			}
			if m.Sum().AggregationTemporality() == pmetric.AggregationTemporalityDelta {
				s.deltas.value += value
			} else if run := s.run(p.StartTimestamp(), p.Timestamp()); run != nil {
				run.value = value
			}
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			if key.with(p.Attributes()).metric != "" {
				at.add(doc.problem(fmt.Errorf("metric %s: explicit buckets: must be an exponential histogram", key.metric)))
				break // of one metric
			}
		}
	default: // nothing of ours
	}
}

// with adds what the attributes say. The key of a point that is about no region is empty.
func (k seriesKey) with(attributes pcommon.Map) seriesKey {
	if k.name = textOf(attributes, naming.RegionNameKey); k.name == "" {
		return seriesKey{}
	}
	k.scope, k.version = textOf(attributes, naming.RegionScopeKey), textOf(attributes, naming.RegionScopeVersionKey)
	k.source = textOf(attributes, naming.CounterSourceKey)
	k.variant = textOf(attributes, naming.RegionScopeSchemaURLKey) + " " + textOf(attributes, naming.RegionScopeAttributesKey)
	return k
}

// unitScale is what values are multiplied by: durations are kept in nanoseconds.
func (k seriesKey) unitScale() float64 {
	if k.metric == naming.RegionDurationMetric {
		return float64(time.Second)
	}
	return 1
}

func (m *metrics) of(key seriesKey, at *FileReport) *series {
	if key.metric == "" {
		return nil
	}
	s := m.series[key]
	if s == nil {
		if len(m.series) >= maxSeries {
			at.SeriesDropped++
			return nil
		}
		s = &series{runs: map[pcommon.Timestamp]*run{}}
		m.series[key] = s
	}
	return s
}

// maxRuns bounds the restarts of one process that are kept apart.
const maxRuns = 1000

// run returns where a cumulative point belongs, nil for one that is older than what is there.
func (s *series) run(start, at pcommon.Timestamp) *run {
	known := s.runs[start]
	switch {
	case known == nil && len(s.runs) >= maxRuns:
		return nil
	case known == nil:
		known = &run{at: at}
		s.runs[start] = known
	case at < known.at:
		return nil
	}
	known.at = at
	return known
}

// total adds up the deltas and the runs.
func (s *series) total(scale float64) (point, error) {
	sum := s.deltas
	for _, run := range s.runs {
		sum.value += run.value
		if run.raw != (pmetric.ExponentialHistogramDataPoint{}) {
			if err := sum.merge(run.raw, scale); err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// merge adds a distribution. Its sum goes to the value.
func (p *point) merge(raw pmetric.ExponentialHistogramDataPoint, scale float64) error {
	s, err := snapshotOf(raw, scale)
	if err != nil {
		return err
	}
	p.value += raw.Sum() * scale
	if p.durations == nil {
		p.durations = s
		return nil
	}
	return p.durations.Merge(s)
}

// regionMetrics are the totals of one region over all of its processes.
type regionMetrics struct {
	durations, self, errors point
}

// byRegion sums the series of regions up, and finds those of counters.
func (m *metrics) byRegion() (map[regionKey]*regionMetrics, counters, error) {
	out := map[regionKey]*regionMetrics{}
	var counts counters
	var failed error
	for key, s := range m.series {
		total, err := s.total(key.unitScale())
		if err != nil {
			failed = err
			continue
		}
		if key.unit != "" {
			counts.add(key, total)
			continue
		}
		g := out[key.regionKey]
		if g == nil {
			g = new(regionMetrics)
			out[key.regionKey] = g
		}
		switch key.metric {
		case naming.RegionDurationMetric:
			g.durations.value += total.value
			if g.durations.durations == nil {
				g.durations.durations = total.durations
			} else if total.durations != nil {
				if err := g.durations.durations.Merge(total.durations); err != nil {
					failed = err
				}
			}
		case naming.RegionSelfTimeMetric:
			g.self.value += total.value
		case naming.RegionErrorsMetric:
			g.errors.value += total.value
		}
	}
	return out, counts, failed
}

// stats are the statistics of a region, whose kind is in its spans.
func (g *regionMetrics) stats(key regionKey) (spans.RegionStats, bool) {
	d := g.durations.durations
	if d == nil || d.Count() == 0 {
		return spans.RegionStats{}, false
	}
	return spans.RegionStats{
		Scope: instrumentation.Scope{Name: key.scope, Version: key.version}, Name: key.name,
		Count: d.Count(), Errors: uint64(max(0, g.errors.value)),
		Total: time.Duration(g.durations.value), Self: time.Duration(g.self.value * float64(time.Second)),
		Durations: d,
	}, true
}
