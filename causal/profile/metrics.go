package profile

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/naming"
)

// The names of the metrics that a producer makes, and of their attributes.
const (
	progressMetric      = "otelprof.causal.progress"       // counter, {visit}
	effectiveTimeMetric = "otelprof.causal.effective_time" // counter, s
	delayMetric         = "otelprof.causal.delay"          // counter, s
	delaysMetric        = "otelprof.causal.delays"         // counter, {delay}
	ownTimeMetric       = "otelprof.causal.own_time"       // counter, s, of slow-downs only
	latencyMetric       = "otelprof.causal.latency"        // exponential histogram, s
	effectMetric        = "otelprof.causal.effect"         // gauge, 1
	effectLowMetric     = "otelprof.causal.effect_low"     // gauge, 1
	effectHighMetric    = "otelprof.causal.effect_high"    // gauge, 1
	waitsMetric         = "otelprof.causal.waits"          // gauge, 1, of slow-downs only

	modeKey    = attribute.Key("otelprof.causal.mode")
	speedupKey = attribute.Key("otelprof.causal.speedup")
	pointKey   = attribute.Key("otelprof.causal.progress_point")
	// metricKey is of effects only.
	metricKey = attribute.Key("otelprof.causal.metric")
	// waitKey is of waits only: inside, awaited, served, overtaken, processor, others or deadlines,
	// as [Curve.Inside], [Curve.Awaited], [Curve.Served], [Curve.Overtaken], [Curve.Behind],
	// [Curve.HoldsUp] and [Curve.Expiring].
	waitKey = attribute.Key("otelprof.causal.wait")
)

const (
	// exponentialScale is the finest that Prometheus keeps.
	exponentialScale = 8
	// mostPoints is how many points a metric has at most; the strongest curves are kept.
	mostPoints = 2000
)

// A producer gives metric readers the results of experiments and of recordings.
type producer struct {
	profile func() Profile

	mu      sync.Mutex
	of      Profile // of which the metrics are
	metrics []metricdata.Metrics
}

// NewProducer returns what gives metric readers, by sdkmetric.WithProducer, the results of
// experiments and of recordings: what profile returns, such as that of causal.Controller.Latest.
// Sums are cumulative, since the profile was started, also for readers that prefer delta
// temporality. Any number of readers can share it. A collection costs what the profile does, and a
// millisecond for the most points that there are if the profile is the one before.
func NewProducer(profile func() Profile) sdkmetric.Producer { return &producer{profile: profile} }

// Produce implements sdkmetric.Producer. It never returns an error, which would make the
// reader drop the metrics of all producers.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	profile := p.profile()
	end := time.Now()
	p.mu.Lock()
	if !p.of.same(profile) {
		p.of, p.metrics = profile, append(profile.sums(end), profile.gauges(end)...)
	}
	metrics := p.metrics
	p.mu.Unlock()
	if len(metrics) == 0 {
		return nil, nil
	}
	metrics = at(end, metrics)
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: naming.CausalScope}, Metrics: metrics}}, nil
}

// same reports whether two profiles have the same curves and tallies: those of the same memory.
func (p Profile) same(other Profile) bool {
	return sameSlice(p.Curves, other.Curves) && sameSlice(p.Tallies, other.Tallies) && p.PlanHash == other.PlanHash && p.Started.Equal(other.Started)
}

func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] || len(a) == 0 && len(b) == 0
}

// at returns the metrics as of a time. Those given are not changed: they are kept, since to make
// their attributes takes long.
func at(end time.Time, metrics []metricdata.Metrics) []metricdata.Metrics {
	all := slices.Clone(metrics)
	for i := range all {
		switch data := all[i].Data.(type) {
		case metricdata.Sum[int64]:
			data.DataPoints = changed(data.DataPoints, func(p *metricdata.DataPoint[int64]) { p.Time = end })
			all[i].Data = data
		case metricdata.Sum[float64]:
			data.DataPoints = changed(data.DataPoints, func(p *metricdata.DataPoint[float64]) { p.Time = end })
			all[i].Data = data
		case metricdata.Gauge[float64]:
			data.DataPoints = changed(data.DataPoints, func(p *metricdata.DataPoint[float64]) { p.Time = end })
			all[i].Data = data
		case metricdata.ExponentialHistogram[float64]:
			data.DataPoints = changed(data.DataPoints, func(p *metricdata.ExponentialHistogramDataPoint[float64]) { p.Time = end })
			all[i].Data = data
		}
	}
	return all
}

func changed[T any](points []T, change func(*T)) []T {
	points = slices.Clone(points)
	for i := range points {
		change(&points[i])
	}
	return points
}

// sums are what was counted.
func (p Profile) sums(end time.Time) []metricdata.Metrics {
	visits := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	delays := visits
	effective := metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	delay, own := effective, effective
	latency := metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, t := range p.Tallies[:min(len(p.Tallies), mostPoints)] {
		set := p.attributes(t.Mode, t.Region, t.Progress, t.Speedup)
		seconds := func(d time.Duration) metricdata.DataPoint[float64] {
			return metricdata.DataPoint[float64]{Attributes: set, StartTime: p.Started, Time: end, Value: d.Seconds()}
		}
		number := func(n uint64) metricdata.DataPoint[int64] {
			return metricdata.DataPoint[int64]{Attributes: set, StartTime: p.Started, Time: end, Value: int64(n)}
		}
		visits.DataPoints = append(visits.DataPoints, number(t.Visits))
		effective.DataPoints = append(effective.DataPoints, seconds(t.Effective))
		delay.DataPoints = append(delay.DataPoints, seconds(t.Delay))
		delays.DataPoints = append(delays.DataPoints, number(t.Delays))
		if t.Mode == ModeSlowdown {
			own.DataPoints = append(own.DataPoints, seconds(t.Own))
		}
		if t.Latency != nil && t.Latency.Count() > 0 {
			point := t.Latency.Exponential(exponentialScale, time.Nanosecond.Seconds())
			point.Attributes, point.StartTime, point.Time = set, p.Started, end
			latency.DataPoints = append(latency.DataPoints, point)
		}
	}
	if len(visits.DataPoints) == 0 {
		return nil
	}
	metrics := []metricdata.Metrics{
		{Name: progressMetric, Description: "Visits of a progress point while a region was faster, or slower.", Unit: "{visit}", Data: visits},
		{Name: effectiveTimeMetric, Description: "Time in which they would have happened.", Unit: "s", Data: effective},
		{Name: delayMetric, Description: "Delay inserted for it.", Unit: "s", Data: delay},
		{Name: delaysMetric, Description: "Number of these delays.", Unit: "{delay}", Data: delays},
	}
	if len(own.DataPoints) > 0 {
		metrics = append(metrics, metricdata.Metrics{Name: ownTimeMetric, Description: "What the region took itself meanwhile.", Unit: "s", Data: own})
	}
	if len(latency.DataPoints) > 0 {
		metrics = append(metrics, metricdata.Metrics{Name: latencyMetric, Description: "Durations of a progress point's spans, less the delays.", Unit: "s", Data: latency})
	}
	return metrics
}

// gauges are what was found out.
func (p Profile) gauges(end time.Time) []metricdata.Metrics {
	var effect, low, high metricdata.Gauge[float64]
	for _, c := range p.Curves {
		for _, e := range c.measured() {
			if len(effect.DataPoints) == mostPoints {
				break
			}
			set := p.attributes(c.Mode, c.Region, c.Progress, e.Speedup, metricKey.String(string(c.Metric)))
			add := func(g *metricdata.Gauge[float64], v float64) {
				g.DataPoints = append(g.DataPoints, metricdata.DataPoint[float64]{Attributes: set, StartTime: p.Started, Time: end, Value: v})
			}
			add(&effect, e.Reduction)
			add(&low, e.Lo)
			add(&high, e.Hi)
		}
	}
	var all []metricdata.Metrics
	if len(effect.DataPoints) > 0 {
		all = append(all,
			metricdata.Metrics{Name: effectMetric, Description: "Part by which a progress point's period or latency would shrink if a region were faster.", Unit: "1", Data: effect},
			metricdata.Metrics{Name: effectLowMetric, Description: "Lower bound of the effect with 95 % confidence.", Unit: "1", Data: low},
			metricdata.Metrics{Name: effectHighMetric, Description: "Upper bound of the effect with 95 % confidence.", Unit: "1", Data: high})
	}
	if waits := p.waits(end); len(waits.DataPoints) > 0 {
		all = append(all, metricdata.Metrics{Name: waitsMetric, Description: "What slow-downs of a region cannot cost, as a part: a faster one may bring more or less.", Unit: "1", Data: waits})
	}
	return all
}

// waits are how the slowed regions wait, and are waited for: what the processes that have them
// know, and an answer from the counters of all needs. Others have no such point.
func (p Profile) waits(end time.Time) (out metricdata.Gauge[float64]) {
	here := map[Region]bool{}
	for _, t := range p.Tallies {
		here[t.Region] = here[t.Region] || t.Mode == ModeSlowdown && t.Own > 0
	}
	for _, c := range p.Curves { // those of a region agree about it
		if c.Mode != ModeSlowdown || !here[c.Region] || len(out.DataPoints) >= mostPoints {
			continue
		}
		here[c.Region] = false
		inside := 0.0
		if c.Inside {
			inside = 1
		}
		for _, wait := range []struct {
			kind string
			part float64
		}{{"inside", inside}, {"awaited", c.Awaited}, {"served", c.Served}, {"overtaken", c.Overtaken}, {"processor", c.Behind}, {"others", c.HoldsUp}, {"deadlines", c.Expiring}} {
			set := p.regional(c.Mode, c.Region, waitKey.String(wait.kind))
			out.DataPoints = append(out.DataPoints, metricdata.DataPoint[float64]{Attributes: set, StartTime: p.Started, Time: end, Value: wait.part})
		}
	}
	return out
}

// attributes are those of one cell. At speed-up 0 there is no region, but in mode [ModeSlowdown].
func (p Profile) attributes(mode Mode, region Region, progress string, speedup float64, more ...attribute.KeyValue) attribute.Set {
	return p.regional(mode, region, append(more, pointKey.String(progress), speedupKey.Float64(speedup))...)
}

// regional attributes are those of what is about a region alone.
func (p Profile) regional(mode Mode, region Region, more ...attribute.KeyValue) attribute.Set {
	all := append(more, modeKey.String(string(mode)))
	if region != (Region{}) {
		all = append(all, naming.RegionNameKey.String(region.Name), naming.RegionScopeKey.String(region.Scope))
	}
	if p.PlanHash != "" && mode.Delays() {
		all = append(all, naming.PlanHashKey.String(p.PlanHash))
	}
	return attribute.NewSet(all...)
}
