package spans

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr"
)

// ScopeName is the instrumentation scope of the metrics that a [Producer] makes.
const ScopeName = "github.com/otelprof/otelprof/spans"

// The names of the metrics that a [Producer] makes, and of their attributes.
const (
	RegionDurationMetric = "otelprof.region.duration"  // exponential histogram, s
	RegionSelfTimeMetric = "otelprof.region.self_time" // counter, s
	RegionErrorsMetric   = "otelprof.region.errors"    // counter, {span}
	DroppedMetric        = "otelprof.dropped"          // counter, {record}

	RegionNameKey  = attribute.Key("otelprof.region.name")
	RegionScopeKey = attribute.Key("otelprof.region.scope")
	// RegionScopeVersionKey is left out where the scope has no version.
	RegionScopeVersionKey = attribute.Key("otelprof.region.scope_version")
	ReasonKey             = attribute.Key("otelprof.reason")
)

// exponentialScale is the finest that Prometheus keeps: bucket bounds 0.27 % apart.
const exponentialScale = 8

var _ sdkmetric.Producer = (*Producer)(nil)

// A Producer gives one metric reader what a provider has measured of its regions. Each
// reader needs one of its own.
type Producer struct {
	provider    *TracerProvider
	temporality metricdata.Temporality
	begin       time.Time
	exemplars   *exemplars // nil for none

	mu      sync.Mutex
	prev    map[*regionStats]*reported // delta only
	scratch *otelhdr.Snapshot          // cumulative only: of the region that is being read
	last    time.Time
	lost    Dropped
}

// reported is what a region had come to at the last collection.
type reported struct {
	durations *otelhdr.Snapshot
	self      float64
	errors    uint64
}

// A ProducerOption sets how a [Producer] reports.
type ProducerOption interface{ applyProducer(*Producer) }

type producerOptionFunc func(*Producer)

func (f producerOptionFunc) applyProducer(p *Producer) { f(p) }

// WithTemporality sets whether values are those since the start or since the last
// collection. Default: cumulative.
func WithTemporality(t metricdata.Temporality) ProducerOption {
	return producerOptionFunc(func(p *Producer) { p.temporality = t })
}

// NewProducer returns a producer for one reader; give it to sdkmetric.WithProducer.
//
// Durations have exemplars: of each region up to eight sampled spans of sessions that have ended since the last collection, among them
// the slowest. OTEL_METRICS_EXEMPLAR_FILTER=always_off leaves them out.
func NewProducer(tp *TracerProvider, opts ...ProducerOption) *Producer {
	p := &Producer{
		provider:    tp,
		temporality: metricdata.CumulativeTemporality,
		begin:       time.Now(),
		prev:        map[*regionStats]*reported{},
	}
	if wantsExemplars() {
		p.exemplars = &exemplars{of: map[*regionStats]*reservoir{}}
		tp.exemplars.add(p.exemplars)
	}
	p.last = p.begin
	for _, o := range opts {
		o.applyProducer(p)
	}
	return p
}

// Produce implements sdkmetric.Producer. It never returns an error, which would make
// the reader leave out all metrics.
func (p *Producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start, end := p.begin, time.Now()
	if p.delta() {
		start, p.last = p.last, end
	}
	durations := metricdata.ExponentialHistogram[float64]{Temporality: p.temporality}
	self := metricdata.Sum[float64]{Temporality: p.temporality, IsMonotonic: true}
	failed := metricdata.Sum[int64]{Temporality: p.temporality, IsMonotonic: true}
	live := p.provider.live()
	durations.DataPoints = make([]metricdata.ExponentialHistogramDataPoint[float64], 0, len(live))
	self.DataPoints = make([]metricdata.DataPoint[float64], 0, len(live))
	failed.DataPoints = make([]metricdata.DataPoint[int64], 0, len(live))
	for _, s := range live {
		now := p.since(s)
		if now.durations.Count() == 0 {
			continue
		}
		point := now.durations.Exponential(exponentialScale, time.Nanosecond.Seconds())
		point.Attributes, point.StartTime, point.Time = s.set, start, end
		point.Exemplars = p.exemplars.take(s)
		durations.DataPoints = append(durations.DataPoints, point)
		self.DataPoints = append(self.DataPoints, metricdata.DataPoint[float64]{Attributes: s.set, StartTime: start, Time: end, Value: now.self})
		failed.DataPoints = append(failed.DataPoints, metricdata.DataPoint[int64]{Attributes: s.set, StartTime: start, Time: end, Value: int64(now.errors)})
	}
	// A metric without points is an error to some who receive it.
	var metrics []metricdata.Metrics
	if len(durations.DataPoints) > 0 {
		metrics = append(metrics,
			metricdata.Metrics{Name: RegionDurationMetric, Description: "Duration of spans, by region.", Unit: "s", Data: durations},
			metricdata.Metrics{Name: RegionSelfTimeMetric, Description: "Time of spans in which no child span was open.", Unit: "s", Data: self},
			metricdata.Metrics{Name: RegionErrorsMetric, Description: "Spans that ended with status Error.", Unit: "{span}", Data: failed})
	}
	if dropped := p.dropped(start, end); len(dropped.DataPoints) > 0 {
		metrics = append(metrics, metricdata.Metrics{Name: DroppedMetric, Description: "Sessions and spans left out of the session store.", Unit: "{record}", Data: dropped})
	}
	if len(metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: ScopeName}, Metrics: metrics}}, nil
}

// RegionAttributes returns the attributes by which metrics name a region, and more.
func RegionAttributes(scope instrumentation.Scope, name string, more ...attribute.KeyValue) attribute.Set {
	kvs := append(slices.Clip(more), RegionNameKey.String(name), RegionScopeKey.String(scope.Name))
	if scope.Version != "" {
		kvs = append(kvs, RegionScopeVersionKey.String(scope.Version))
	}
	return attribute.NewSet(kvs...)
}

func (p *Producer) delta() bool { return p.temporality == metricdata.DeltaTemporality }

// since returns what a region has come to, since the last collection if those are deltas.
func (p *Producer) since(s *regionStats) reported {
	durations, self := s.read(p.scratch)
	total := reported{durations: durations, self: time.Duration(self).Seconds(), errors: s.errors.Load()}
	if !p.delta() {
		p.scratch = durations
	}
	prev := p.prev[s]
	if !p.delta() {
		return total
	}
	delta := total
	if prev != nil {
		delta = reported{
			durations: total.durations.Since(prev.durations, nil),
			self:      total.self - prev.self,
			errors:    total.errors - prev.errors,
		}
	}
	// Without a count there is no data point, so what a span that is just ending has added
	// to the rest stays for the next collection.
	if delta.durations.Count() > 0 {
		p.prev[s] = &total
	}
	return delta
}

func (p *Producer) dropped(start, end time.Time) metricdata.Sum[int64] {
	now, before := p.provider.Dropped(), p.lost
	if p.delta() {
		p.lost = now
	}
	sum := metricdata.Sum[int64]{Temporality: p.temporality, IsMonotonic: true}
	add := func(reason string, now, before uint64) {
		if now == 0 {
			return
		}
		sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{
			Attributes: attribute.NewSet(ReasonKey.String(reason)),
			StartTime:  start, Time: end, Value: int64(now - before),
		})
	}
	add("queue_full", now.QueueFull, before.QueueFull)
	add("unwanted", now.Unwanted, before.Unwanted)
	add("store_error", now.StoreError, before.StoreError)
	add("discarded", now.Discarded, before.Discarded)
	add("revisions", now.Revisions, before.Revisions)
	add("session_full", now.SessionFull, before.SessionFull)
	add("regions_full", now.RegionsFull, before.RegionsFull)
	add("hook_panics", now.HookPanics, before.HookPanics)
	return sum
}
