package pmuattrs

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

// ScopeName is the instrumentation scope of the metrics that a [Producer] makes.
const ScopeName = "github.com/otelprof/otelprof/pmuattrs"

// uncountedMetric counts the spans of the sample that have no counts, with the attribute
// [spans.ReasonKey]. The metric of an event has the name of its attribute, see [Event.Key].
const uncountedMetric = "pmu.uncounted"

// exponentialScale makes bucket bounds 1.1 % apart, as fine as the histograms are.
const exponentialScale = 6

var _ sdkmetric.Producer = (*Producer)(nil)

// A Producer gives one metric reader what a hook has counted, as one exponential histogram for
// each event and region. Each reader needs one of its own.
type Producer struct {
	hook        *Hook
	temporality metricdata.Temporality
	begin       time.Time

	mu      sync.Mutex
	last    time.Time
	prev    map[*otelhdr.Concurrent]*otelhdr.Snapshot // delta only
	scratch *otelhdr.Snapshot                         // cumulative only: of the histogram that is being read
	lost    [outcomes]uint64
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
func NewProducer(h *Hook, opts ...ProducerOption) *Producer {
	p := &Producer{
		hook:        h,
		temporality: metricdata.CumulativeTemporality,
		begin:       time.Now(),
		prev:        map[*otelhdr.Concurrent]*otelhdr.Snapshot{},
	}
	p.last = p.begin
	for _, o := range opts {
		o.applyProducer(p)
	}
	return p
}

// Produce implements sdkmetric.Producer. It never returns an error, which would make
// the reader drop the metrics of all producers.
func (p *Producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	start, end := p.begin, time.Now()
	if p.delta() {
		start, p.last = p.last, end
	}
	live, events := p.hook.regions.known.All(), p.hook.Events()
	metrics := make([]metricdata.Metrics, 0, len(events)+1)
	for i, e := range events {
		counts := metricdata.ExponentialHistogram[float64]{Temporality: p.temporality}
		for _, r := range live {
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
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: ScopeName}, Metrics: metrics}}, nil
}

func (p *Producer) delta() bool { return p.temporality == metricdata.DeltaTemporality }

// since returns what a histogram has come to, since the last collection if those are deltas. It is valid until the next call.
func (p *Producer) since(h *otelhdr.Concurrent) *otelhdr.Snapshot {
	if !p.delta() {
		p.scratch = h.Snapshot(p.scratch)
		return p.scratch
	}
	total := h.Snapshot(nil)
	delta := total.Since(p.prev[h], nil)
	// Without a count there is no data point: what a span that is just ending has added to
	// the rest stays for the next collection.
	if delta.Count() != 0 {
		p.prev[h] = total
	}
	return delta
}

func (p *Producer) uncounted(start, end time.Time) metricdata.Sum[int64] {
	sum := metricdata.Sum[int64]{Temporality: p.temporality, IsMonotonic: true}
	for o, reason := range reasons {
		now := p.hook.outcomes[o].Load()
		if outcome(o) == counted || now == 0 {
			continue
		}
		sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{
			Attributes: attribute.NewSet(spans.ReasonKey.String(reason)),
			StartTime:  start, Time: end, Value: int64(now - p.lost[o]),
		})
		if p.delta() {
			p.lost[o] = now
		}
	}
	return sum
}
