package spans

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/otelhdr"
)

// exponentialScale is the finest that Prometheus keeps: bucket bounds 0.27 % apart.
const exponentialScale = 8

// A producer gives one metric reader what a provider has measured of its regions.
type producer struct {
	provider    *TracerProvider
	temporality metricdata.Temporality
	exemplars   *exemplars // nil for none

	mu          sync.Mutex
	prev        map[*regionStats]*reported // delta only
	total, news *otelhdr.Snapshot          // of the region that is being read
	pushed      *pushed                    // cumulative only, nil for a reader that wants all regions each time
	last        time.Time
	lost        Dropped
}

// reported is what a region had come to at the last collection that had something of it.
type reported struct {
	durations otelhdr.Packed
	self      time.Duration
	errors    uint64
}

// NewProducer returns what gives one metric reader, by sdkmetric.WithProducer, all that a provider
// has measured of its regions. Each reader needs one of its own. Values are those since the last
// collection with [metricdata.DeltaTemporality], and otherwise those since the provider was made. A
// collection takes about 3 µs for each region, and returns no error.
//
// Durations have exemplars: of each region up to eight sampled spans of sessions that have ended
// since the last collection, among them the slowest. A span is none that its session had no room
// for, that has no session by [WithSessionFilter], or whose session was dropped when it ended:
// [Dropped] counts those of SessionFull, QueueFull and Discarded.
// OTEL_METRICS_EXEMPLAR_FILTER=always_off leaves them out.
func NewProducer(tp *TracerProvider, t metricdata.Temporality) sdkmetric.Producer {
	if t != metricdata.DeltaTemporality {
		t = metricdata.CumulativeTemporality
	}
	p := &producer{
		provider:    tp,
		temporality: t,
		last:        tp.begun,
		prev:        map[*regionStats]*reported{},
	}
	if wantsExemplars() {
		p.exemplars = &exemplars{of: map[*regionStats]*reservoir{}}
		tp.exemplars.add(p.exemplars)
	}
	return p
}

// Produce implements sdkmetric.Producer. It never returns an error, which would make the reader
// leave out all metrics. It takes about 3 µs for each region, and rests as long after each half of
// a millisecond, until ctx ends.
func (p *producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start, end := p.provider.begun, time.Now()
	if p.delta() {
		start, p.last = p.last, end
	}
	durations := metricdata.ExponentialHistogram[float64]{Temporality: p.temporality}
	self := metricdata.Sum[float64]{Temporality: p.temporality, IsMonotonic: true}
	failed := metricdata.Sum[int64]{Temporality: p.temporality, IsMonotonic: true}
	live, resting := p.provider.live(), rest.NewWorker(ctx)
	if p.pushed != nil {
		live = p.pushed.due(live, end, resting.Due)
	}
	durations.DataPoints = make([]metricdata.ExponentialHistogramDataPoint[float64], 0, len(live))
	self.DataPoints = make([]metricdata.DataPoint[float64], 0, len(live))
	failed.DataPoints = make([]metricdata.DataPoint[int64], 0, len(live))
	for i, s := range live {
		if i%regionsAtOnce == 0 {
			resting.Due()
		}
		now, took, errors := p.since(s)
		if now.Count() == 0 {
			continue
		}
		point := now.Exponential(exponentialScale, time.Nanosecond.Seconds())
		point.Attributes, point.StartTime, point.Time = s.set, start, end
		point.Exemplars = p.exemplars.take(s)
		durations.DataPoints = append(durations.DataPoints, point)
		self.DataPoints = append(self.DataPoints, metricdata.DataPoint[float64]{Attributes: s.set, StartTime: start, Time: end, Value: took.Seconds()})
		failed.DataPoints = append(failed.DataPoints, metricdata.DataPoint[int64]{Attributes: s.set, StartTime: start, Time: end, Value: int64(errors)})
	}
	// A metric without points is an error to some receivers.
	var metrics []metricdata.Metrics
	if len(durations.DataPoints) > 0 {
		metrics = append(metrics,
			metricdata.Metrics{Name: naming.RegionDurationMetric, Description: "Duration of spans, by region.", Unit: "s", Data: durations},
			metricdata.Metrics{Name: naming.RegionSelfTimeMetric, Description: "Time of spans in which no child span was open.", Unit: "s", Data: self},
			metricdata.Metrics{Name: naming.RegionErrorsMetric, Description: "Spans that ended with status Error.", Unit: "{span}", Data: failed})
	}
	if dropped := p.dropped(start, end); len(dropped.DataPoints) > 0 {
		metrics = append(metrics, metricdata.Metrics{Name: naming.DroppedMetric, Description: "Sessions and spans left out of the session store.", Unit: "{record}", Data: dropped})
	}
	if len(metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: naming.SpansScope}, Metrics: metrics}}, nil
}

// regionsAtOnce are read between two looks at the clock.
const regionsAtOnce = 16

func (p *producer) delta() bool { return p.temporality == metricdata.DeltaTemporality }

// since returns what a region has come to, since the last collection if those are deltas. The
// durations are valid until the next call.
func (p *producer) since(s *regionStats) (durations *otelhdr.Snapshot, self time.Duration, errors uint64) {
	p.total, self = s.read(p.total)
	errors = s.errors.Load()
	if !p.delta() {
		return p.total, self, errors
	}
	prev := p.prev[s]
	if prev == nil {
		prev = new(reported)
		p.prev[s] = prev
	}
	p.news = prev.durations.Until(p.total, p.news)
	newSelf, newErrors := self-prev.self, errors-prev.errors
	// Without a count there is no data point, so what a span that is just ending has added
	// to the rest stays for the next collection.
	if p.news.Count() > 0 {
		prev.self, prev.errors = self, errors
	}
	return p.news, newSelf, newErrors
}

func (p *producer) dropped(start, end time.Time) metricdata.Sum[int64] {
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
			Attributes: attribute.NewSet(naming.ReasonKey.String(reason)),
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

// pushed is what a producer has given to an exporter that pushes, so that most of the collections
// that come often are of those regions alone in which spans have ended since: of thousands of names
// few change in a second. One goroutine uses it at a time.
type pushed struct {
	whole func() bool
	last  map[*regionStats]push
}

// A push is what a region had come to when it was given.
type push struct {
	spans, errors uint64
	at            time.Time
}

// again is after what time a region is given again though nothing has changed: a little less than
// the 10 s that are promised, so that each of the collections that come each 10 s has all.
const again = 9 * time.Second

// SkipUnchanged leaves regions without news out of collections that come more often than each 10 s,
// of cumulative temporality. It is called before the first collection, for readers that push: who
// pulls metrics takes a series that is missing for one that has ended. While whole returns true
// collections are of all regions: what was given before may not have arrived.
func (p *producer) SkipUnchanged(whole func() bool) {
	if p.temporality == metricdata.CumulativeTemporality {
		p.pushed = &pushed{whole: whole, last: map[*regionStats]push{}}
	}
}

// due returns the regions that a collection at a time has, and keeps that it has them. It calls
// rest now and then: to count the spans of a region takes a microsecond.
func (p *pushed) due(all []*regionStats, at time.Time, rest func()) (due []*regionStats) {
	if p.whole() {
		clear(p.last)
	}
	for i, s := range all {
		if i%regionsAtOnce == 0 {
			rest()
		}
		now, before := push{s.durations.Count(), s.errors.Load(), at}, p.last[s]
		if now.spans != before.spans || now.errors != before.errors || at.Sub(before.at) >= again {
			p.last[s] = now
			due = append(due, s)
		}
	}
	return due
}
