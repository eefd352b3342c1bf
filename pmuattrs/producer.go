package pmuattrs

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

// uncountedMetric counts the spans of the sample that have no counts, with the attribute
// otelprof.reason. The metric of an event has the name of its attribute, see [Event.Key].
const uncountedMetric = "pmu.uncounted"

// exponentialScale makes bucket bounds 1.1 % apart, as fine as the histograms are.
const exponentialScale = 6

// A producer gives one metric reader what a hook has counted.
type producer struct {
	hook        *Hook
	temporality metricdata.Temporality

	mu          sync.Mutex
	last        time.Time
	prev        map[*otelhdr.Concurrent]*otelhdr.Packed // delta only
	total, news *otelhdr.Snapshot                       // of the histogram that is being read
	lost        [outcomes]uint64
}

// NewProducer returns what gives one metric reader, by sdkmetric.WithProducer, all that a hook has
// counted, as one exponential histogram for each event and region. Each reader needs one of its
// own. Values are those since the last collection with [metricdata.DeltaTemporality], and otherwise
// those since the hook was made. A collection takes about 2 µs for each region and event, and
// returns no error.
func NewProducer(h *Hook, t metricdata.Temporality) sdkmetric.Producer {
	if t != metricdata.DeltaTemporality {
		t = metricdata.CumulativeTemporality
	}
	return &producer{
		hook:        h,
		temporality: t,
		last:        h.regions.begun,
		prev:        map[*otelhdr.Concurrent]*otelhdr.Packed{},
	}
}

// Produce implements sdkmetric.Producer. It never returns an error, which would make the reader
// drop the metrics of all producers. It takes about 2 µs for each region and event, and rests as
// long after each half of a millisecond, until ctx ends.
func (p *producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start, end := p.hook.regions.begun, time.Now()
	if p.delta() {
		start, p.last = p.last, end
	}
	live, events := p.hook.regions.known.All(), p.hook.Events()
	metrics := make([]metricdata.Metrics, 0, len(events)+1)
	resting := rest.NewWorker(ctx)
	for i, e := range events {
		counts := metricdata.ExponentialHistogram[float64]{Temporality: p.temporality}
		for k, r := range live {
			if k%regionsAtOnce == 0 {
				resting.Due()
			}
			if now := p.since(r.counts[i]); now.Count() != 0 {
				point := now.Exponential(exponentialScale, 1)
				point.Attributes, point.StartTime, point.Time = r.set, start, end
				counts.DataPoints = append(counts.DataPoints, point)
			}
		}
		// A metric without points is an error to some receivers.
		if len(counts.DataPoints) > 0 {
			metrics = append(metrics, metricdata.Metrics{
				Name: string(e.Key()), Unit: e.Unit(), Data: counts,
				Description: "What was counted in a span, of the spans in the sample.",
			})
		}
	}
	if uncounted := p.uncounted(start, end); len(uncounted.DataPoints) > 0 {
		metrics = append(metrics, metricdata.Metrics{
			Name: uncountedMetric, Unit: "{span}", Data: uncounted,
			Description: "Spans of the sample without counts.",
		})
	}
	if len(metrics) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: naming.CountersScope}, Metrics: metrics}}, nil
}

// regionsAtOnce are read between two looks at the clock.
const regionsAtOnce = 16

func (p *producer) delta() bool { return p.temporality == metricdata.DeltaTemporality }

// since returns what a histogram has come to, since the last collection if those are deltas. It is
// valid until the next call.
func (p *producer) since(h *otelhdr.Concurrent) *otelhdr.Snapshot {
	p.total = h.Snapshot(p.total)
	if !p.delta() {
		return p.total
	}
	if p.prev[h] == nil {
		p.prev[h] = new(otelhdr.Packed)
	}
	p.news = p.prev[h].Until(p.total, p.news)
	return p.news
}

func (p *producer) uncounted(start, end time.Time) metricdata.Sum[int64] {
	sum := metricdata.Sum[int64]{Temporality: p.temporality, IsMonotonic: true}
	for o, reason := range reasons {
		now := p.hook.outcomes[o].Load()
		if outcome(o) == counted || now == 0 {
			continue
		}
		sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{
			Attributes: attribute.NewSet(naming.ReasonKey.String(reason)),
			StartTime:  start, Time: end, Value: int64(now - p.lost[o]),
		})
		if p.delta() {
			p.lost[o] = now
		}
	}
	return sum
}
