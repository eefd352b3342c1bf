package causal

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ScopeName is the instrumentation scope of the metrics that a [Producer] makes.
const ScopeName = "github.com/otelprof/otelprof/causal"

// The names of the metrics that a [Producer] makes, and of their attributes.
const (
	ProgressMetric      = "otelprof.causal.progress"       // counter, {visit}
	EffectiveTimeMetric = "otelprof.causal.effective_time" // counter, s
	DelayMetric         = "otelprof.causal.delay"          // counter, s
	LatencyMetric       = "otelprof.causal.latency"        // exponential histogram, s
	EffectMetric        = "otelprof.causal.effect"         // gauge, 1
	EffectLowMetric     = "otelprof.causal.effect_low"     // gauge, 1
	EffectHighMetric    = "otelprof.causal.effect_high"    // gauge, 1

	ModeKey    = attribute.Key("otelprof.causal.mode")
	SpeedupKey = attribute.Key("otelprof.causal.speedup")
	PointKey   = attribute.Key("otelprof.causal.progress_point")
	// MetricKey is of effects only.
	MetricKey = attribute.Key("otelprof.causal.metric")
	// PlanHashKey is left out where there is no plan, as for recordings.
	PlanHashKey = attribute.Key("otelprof.causal.plan_hash")

	regionNameKey  = attribute.Key("otelprof.region.name")
	regionScopeKey = attribute.Key("otelprof.region.scope")
)

const (
	// exponentialScale is the finest that Prometheus keeps.
	exponentialScale = 8
	// mostPoints is how many points a metric has at most; the strongest curves are kept.
	mostPoints = 2000
)

var _ sdkmetric.Producer = (*Producer)(nil)

// A Producer gives metric readers the results of experiments and of recordings. Its sums
// are cumulative, since the profile was started, whatever temporality a reader prefers. Any
// number of readers can share it. A collection costs what computing the profile does.
type Producer struct{ profile func() Profile }

// NewProducer returns a producer of what profile returns, such as [Controller.Profile]; give it
// to sdkmetric.WithProducer.
func NewProducer(profile func() Profile) *Producer { return &Producer{profile} }

// Produce implements sdkmetric.Producer. It never returns an error, which would make the
// reader leave out everybody's metrics.
func (p *Producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	profile := p.profile()
	end := time.Now()
	metrics := append(profile.sums(end), profile.gauges(end)...)
	if len(metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: ScopeName}, Metrics: metrics}}, nil
}

// sums are what was counted.
func (p Profile) sums(end time.Time) []metricdata.Metrics {
	visits := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	effective := metricdata.Sum[float64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	delay := effective
	latency := metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, t := range p.Tallies[:min(len(p.Tallies), mostPoints)] {
		set := p.attributes(t.Mode, t.Region, t.Progress, t.Speedup)
		seconds := func(d time.Duration) metricdata.DataPoint[float64] {
			return metricdata.DataPoint[float64]{Attributes: set, StartTime: p.Started, Time: end, Value: d.Seconds()}
		}
		visits.DataPoints = append(visits.DataPoints, metricdata.DataPoint[int64]{Attributes: set, StartTime: p.Started, Time: end, Value: int64(t.Visits)})
		effective.DataPoints = append(effective.DataPoints, seconds(t.Effective))
		delay.DataPoints = append(delay.DataPoints, seconds(t.Delay))
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
		{Name: ProgressMetric, Description: "Visits of a progress point while a region was faster.", Unit: "{visit}", Data: visits},
		{Name: EffectiveTimeMetric, Description: "Time in which they would have happened.", Unit: "s", Data: effective},
		{Name: DelayMetric, Description: "Delay inserted for it.", Unit: "s", Data: delay},
	}
	if len(latency.DataPoints) > 0 {
		metrics = append(metrics, metricdata.Metrics{Name: LatencyMetric, Description: "Durations of a progress point's spans, less the delays.", Unit: "s", Data: latency})
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
			set := p.attributes(c.Mode, c.Region, c.Progress, e.Speedup, MetricKey.String(string(c.Metric)))
			add := func(g *metricdata.Gauge[float64], v float64) {
				g.DataPoints = append(g.DataPoints, metricdata.DataPoint[float64]{Attributes: set, StartTime: p.Started, Time: end, Value: v})
			}
			add(&effect, e.Reduction)
			add(&low, e.Lo)
			add(&high, e.Hi)
		}
	}
	if len(effect.DataPoints) == 0 {
		return nil
	}
	return []metricdata.Metrics{
		{Name: EffectMetric, Description: "Part by which a progress point's period or latency would shrink if a region were faster.", Unit: "1", Data: effect},
		{Name: EffectLowMetric, Description: "Lower bound of the effect with 95 % confidence.", Unit: "1", Data: low},
		{Name: EffectHighMetric, Description: "Upper bound of the effect with 95 % confidence.", Unit: "1", Data: high},
	}
}

// attributes are those of one cell. At speed-up 0 there is no region.
func (p Profile) attributes(mode Mode, region RegionKey, progress string, speedup float64, more ...attribute.KeyValue) attribute.Set {
	all := append(more, ModeKey.String(string(mode)), PointKey.String(progress), SpeedupKey.Float64(speedup))
	if region != (RegionKey{}) {
		all = append(all, regionNameKey.String(region.Span), regionScopeKey.String(region.Scope))
	}
	if p.PlanHash != "" && mode.Delays() {
		all = append(all, PlanHashKey.String(p.PlanHash))
	}
	return attribute.NewSet(all...)
}
