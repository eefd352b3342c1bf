package hdrmetric

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/otelhdr"
)

var (
	_ sdkmetric.Producer  = (*Producer)(nil)
	_ MeterProviderOption = (*Producer)(nil)
)

// A Producer gives one reader what the histograms of a [MeterProvider] have recorded. Each reader
// needs one of its own, with the temporality of its exporter; it is given to [WrapMeterProvider]
// and to the reader, with sdkmetric.WithProducer.
type Producer struct {
	config producerConfig

	mu       sync.Mutex
	provider *MeterProvider // nil before WrapMeterProvider
	index    int            // among the provider's producers
	resting  *rest.Worker   // of the collection under way

	// These are overwritten for every series.
	current, delta    *otelhdr.Snapshot
	below, deltaBelow *otelhdr.Snapshot // the same, of the negative values
}

// A reading is what one producer knows about a series.
type reading struct {
	exemplars atomic.Pointer[reservoir] // nil before the first

	// What was recorded up to the last collection that had something to report. Readers of deltas
	// only, and guarded by the producer's lock.
	values, negative *otelhdr.Packed
}

// NewProducer returns a producer for one reader. Options that are wrong are reported to otel.Handle
// and left out.
func NewProducer(opts ...ProducerOption) *Producer {
	c, err := newProducerConfig(opts)
	if err != nil {
		otel.Handle(err)
	}
	return &Producer{
		config:     c,
		current:    new(otelhdr.Snapshot),
		delta:      new(otelhdr.Snapshot),
		below:      new(otelhdr.Snapshot),
		deltaBelow: new(otelhdr.Snapshot),
	}
}

func (p *Producer) applyMeterProvider(c meterConfig) meterConfig {
	if p != nil {
		c.producers = append(slices.Clip(c.producers), p)
	}
	return c
}

// attach makes m the provider that p reads, and returns false if it reads one already.
func (p *Producer) attach(m *MeterProvider, index int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.provider != nil {
		return false
	}
	p.provider, p.index = m, index
	return true
}

// Produce implements sdkmetric.Producer: one ScopeMetrics for each meter that has recorded
// something. It never returns an error, which would make the reader leave out all metrics. It takes
// some 20 µs for each series, and rests as long after each half of a millisecond, until ctx ends.
func (p *Producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.provider == nil {
		return nil, nil
	}
	p.resting = rest.NewWorker(ctx)
	var all []metricdata.ScopeMetrics
	for _, m := range p.provider.all() {
		var metrics []metricdata.Metrics
		for _, s := range m.all() {
			if data := p.aggregate(s); data != nil {
				metrics = append(metrics, metricdata.Metrics{Name: s.name, Description: s.description, Unit: s.unit, Data: data})
			}
		}
		if len(metrics) > 0 {
			all = append(all, metricdata.ScopeMetrics{Scope: m.scope, Metrics: metrics})
		}
	}
	return all, nil
}

// aggregate returns the points of a stream, or nil if there are none.
func (p *Producer) aggregate(s *stream) metricdata.Aggregation {
	switch {
	case p.config.explicit && s.integer:
		return explicitHistogram[int64](p, s)
	case p.config.explicit:
		return explicitHistogram[float64](p, s)
	case s.integer:
		return exponentialHistogram[int64](p, s)
	default:
		return exponentialHistogram[float64](p, s)
	}
}

// each calls f with all series of s that have something to report, and with the times of their
// points.
func (p *Producer) each(s *stream, f func(x *series, t totals, start, end time.Time)) {
	end := time.Now()
	start := s.created
	if p.deltas() {
		if last := s.reported[p.index]; !last.IsZero() {
			start = last
		}
		s.reported[p.index] = end
	}
	all, leaving := s.snapshot()
	var silent []*series
	for _, x := range append(slices.Clip(all), leaving...) {
		p.resting.Due()
		t, n := p.read(x)
		at := end
		if e := x.ended.Load(); e != nil {
			finished, more := s.last(x, e, p.index, n)
			if !more {
				continue
			}
			if !finished.IsZero() {
				at = finished
			}
		}
		if t.count() == 0 {
			silent = append(silent, x)
			continue
		}
		if !p.deltas() {
			start = x.start
		}
		f(x, t, start, at)
	}
	s.forget(p.index, all, leaving, silent)
}

// read returns what x has recorded, since the last collection if p reports deltas, and the number
// of all values so far.
func (p *Producer) read(x *series) (t totals, n uint64) {
	r := &x.readings[p.index]
	negative := x.negative.Load()
	t.values = x.values.Snapshot(p.current)
	n = t.values.Count()
	if negative != nil {
		t.negative = negative.Snapshot(p.below)
		n += t.negative.Count()
	}
	if !p.deltas() {
		return t, n
	}
	if r.values == nil {
		r.values = new(otelhdr.Packed)
	}
	t.values = r.values.Until(p.current, p.delta)
	if negative != nil {
		if r.negative == nil {
			r.negative = new(otelhdr.Packed)
		}
		t.negative = r.negative.Until(p.below, p.deltaBelow)
	}
	return t, n
}

func (p *Producer) deltas() bool { return p.config.temporality == metricdata.DeltaTemporality }
