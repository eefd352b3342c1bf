package otelprof

import (
	"context"
	"errors"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
)

// Producer returns the metrics of regions, of the causal profile and of counters, for a reader of
// the program's own:
//
//	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(prof.Producer(metricdata.CumulativeTemporality)))
//
// Regions are exponential histograms. With metricdata.DeltaTemporality a producer keeps what it has
// given away: make one for each reader. [Setup] does so for the readers that it makes.
func (p *Profiler) Producer(temporality metricdata.Temporality) sdkmetric.Producer {
	return producers(p.producers(temporality))
}

func (p *Profiler) producers(temporality metricdata.Temporality) []sdkmetric.Producer {
	all := []sdkmetric.Producer{spans.NewProducer(p.tracers, temporality), profile.NewProducer(p.causal.Latest)}
	if p.counters != nil {
		all = append(all, pmuattrs.NewProducer(p.counters, temporality))
	}
	return all
}

// producers are collected as one.
type producers []sdkmetric.Producer

// Produce returns the metrics of all, and joins their errors.
func (all producers) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var scopes []metricdata.ScopeMetrics
	var errs []error
	for _, p := range all {
		more, err := p.Produce(ctx)
		scopes, errs = append(scopes, more...), append(errs, err)
	}
	return scopes, errors.Join(errs...)
}
