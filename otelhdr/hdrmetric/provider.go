package hdrmetric

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/internal/clock/ending"
	"github.com/otelprof/otelprof/otelhdr"
)

var _ metric.MeterProvider = (*MeterProvider)(nil)

// A MeterProvider is a wrapped provider whose histogram instruments, of float64 and of int64,
// record into HDR histograms. Everything else is the wrapped provider's own: its counters, gauges
// and observable instruments are handed through as they are, and so are callbacks. [Producer]
// values give what was recorded to the readers.
//
// Any goroutine may call its methods and those of its meters and instruments. Recording takes no
// lock.
type MeterProvider struct {
	metric.MeterProvider // the wrapped one

	config    meterConfig
	producers []*Producer
	forgets   bool // all readers want deltas

	notFinite, tooLarge atomic.Uint64

	mu     sync.Mutex
	meters map[instrumentation.Scope]*meter
	order  []*meter
}

// WrapMeterProvider returns base with its histogram instruments taken over. Every reader of base
// needs a [Producer] of its own, which is given both here and to the reader:
//
//	producer := hdrmetric.NewProducer()
//	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(producer))
//	provider := hdrmetric.WrapMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), producer)
//
// Without a producer nothing is taken over, since no reader would collect it. Options that are
// wrong are reported to otel.Handle and left out.
//
// Like the SDK, it reads OTEL_METRICS_EXEMPLAR_FILTER, OTEL_GO_X_CARDINALITY_LIMIT and
// OTEL_GO_X_PER_SERIES_START_TIMESTAMPS.
func WrapMeterProvider(base metric.MeterProvider, opts ...MeterProviderOption) *MeterProvider {
	if base == nil {
		base = noop.NewMeterProvider()
	}
	c, err := newMeterConfig(opts)
	if err != nil {
		otel.Handle(err)
	}
	p := &MeterProvider{MeterProvider: base, config: c, meters: map[instrumentation.Scope]*meter{}}
	for _, producer := range c.producers {
		if !producer.attach(p, len(p.producers)) {
			otel.Handle(fmt.Errorf("%w: producer: must be used once", otelhdr.ErrConfig))
			continue
		}
		p.producers = append(p.producers, producer)
	}
	p.forgets = len(p.producers) <= maxProducers
	for _, producer := range p.producers {
		p.forgets = p.forgets && producer.deltas()
	}
	return p
}

// Meter implements metric.MeterProvider. The same scope has the same meter.
func (p *MeterProvider) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	base := p.MeterProvider.Meter(name, opts...)
	if len(p.producers) == 0 {
		return base
	}
	c := metric.NewMeterConfig(opts...)
	scope := instrumentation.Scope{
		Name:       name,
		Version:    c.InstrumentationVersion(),
		SchemaURL:  c.SchemaURL(),
		Attributes: withoutDuplicates(c.InstrumentationAttributes()),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.meters[scope]
	if m == nil {
		m = newMeter(p, scope, base)
		p.meters[scope] = m
		p.order = append(p.order, m)
	}
	return m
}

// Unwrap returns the wrapped provider.
func (p *MeterProvider) Unwrap() metric.MeterProvider { return p.MeterProvider }

// ForceFlush calls the method of that name of the wrapped provider, if it has one, which collects
// from all readers and so from their producers.
func (p *MeterProvider) ForceFlush(ctx context.Context) error {
	if f, ok := p.MeterProvider.(interface{ ForceFlush(context.Context) error }); ok {
		return f.ForceFlush(ctx)
	}
	return nil
}

// Shutdown calls the method of that name of the wrapped provider, if it has one, and returns soon
// after ctx has ended, even if that hangs. Later records are never collected.
func (p *MeterProvider) Shutdown(ctx context.Context) error {
	s, ok := p.MeterProvider.(interface{ Shutdown(context.Context) error })
	if !ok {
		return nil
	}
	if err := ending.Within(ctx, func() error { return s.Shutdown(ctx) }); err != nil {
		return fmt.Errorf("otelhdr: shutdown: wrapped provider: %w", err)
	}
	return nil
}

// Irregular returns how many values all instruments together could not record as they were since
// the provider was made: NaN and infinities, which are left out, as by the SDK, and values beyond
// the range that [WithResolution] describes, which are recorded as its end.
func (p *MeterProvider) Irregular() (notFinite, tooLarge uint64) {
	return p.notFinite.Load(), p.tooLarge.Load()
}

// SizeBytes returns the memory that the histograms of all instruments hold now. The baselines of
// readers of deltas are not part of it; each of them has about as much again.
func (p *MeterProvider) SizeBytes() int {
	n := 0
	for _, m := range p.all() {
		for _, s := range m.all() {
			n += s.sizeBytes()
		}
	}
	return n
}

// all returns the meters in the order they were made.
func (p *MeterProvider) all() []*meter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.order)
}

// newHistogram returns a histogram with the options of [WithHistogram].
func (p *MeterProvider) newHistogram() *otelhdr.Concurrent {
	c, _ := otelhdr.NewConcurrent(p.config.histogram...) // newMeterConfig has left no options that are wrong
	return c
}
