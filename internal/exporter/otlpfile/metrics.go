package otlpfile

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/otlpjson"
)

// A refusedError is about data points that OTLP has no words for; the others are written.
type refusedError struct {
	points int
	err    error
}

func (e *refusedError) Error() string { return e.err.Error() }

func (e *refusedError) Unwrap() error { return e.err }

// metricsOf returns what OTLP has words for, and what it has none for.
func metricsOf(rm *metricdata.ResourceMetrics) (*otlpjson.Metrics, *refusedError) {
	out := otlpjson.ResourceMetrics{Resource: resourceOf(rm.Resource), SchemaURL: rm.Resource.SchemaURL()}
	refused := &refusedError{}
	for _, sm := range rm.ScopeMetrics {
		scope := otlpjson.ScopeMetrics{Scope: otlpjson.ScopeOf(sm.Scope), SchemaURL: sm.Scope.SchemaURL}
		for _, src := range sm.Metrics {
			m, err := metricOf(src)
			if err != nil {
				refused.points += delivery.Points(src.Data)
				refused.err = errors.Join(refused.err, fmt.Errorf("otlpfile: metric %q: %w", src.Name, err))
				continue
			}
			scope.Metrics = append(scope.Metrics, m)
		}
		out.ScopeMetrics = append(out.ScopeMetrics, scope)
	}
	return &otlpjson.Metrics{ResourceMetrics: []otlpjson.ResourceMetrics{out}}, refused
}

func metricOf(src metricdata.Metrics) (m otlpjson.Metric, err error) {
	m = otlpjson.Metric{Name: src.Name, Description: src.Description, Unit: src.Unit}
	switch d := src.Data.(type) {
	case metricdata.Gauge[int64]:
		m.Gauge = &otlpjson.Gauge{Points: numberPoints(d.DataPoints)}
	case metricdata.Gauge[float64]:
		m.Gauge = &otlpjson.Gauge{Points: numberPoints(d.DataPoints)}
	case metricdata.Sum[int64]:
		m.Sum, err = sumOf(d)
	case metricdata.Sum[float64]:
		m.Sum, err = sumOf(d)
	case metricdata.Histogram[int64]:
		m.Histogram, err = histogramOf(d)
	case metricdata.Histogram[float64]:
		m.Histogram, err = histogramOf(d)
	case metricdata.ExponentialHistogram[int64]:
		m.Exponential, err = exponentialOf(d)
	case metricdata.ExponentialHistogram[float64]:
		m.Exponential, err = exponentialOf(d)
	case metricdata.Summary:
		m.Summary = summaryOf(d)
	default:
		err = fmt.Errorf("aggregation %T: must be one of OTLP's", d)
	}
	return m, err
}

func temporality(t metricdata.Temporality) (otlpjson.Temporality, error) {
	switch t {
	case metricdata.CumulativeTemporality:
		return otlpjson.Cumulative, nil
	case metricdata.DeltaTemporality:
		return otlpjson.Delta, nil
	default:
		return 0, fmt.Errorf("temporality %s: must be cumulative or delta", t)
	}
}

func pointOf(attributes attribute.Set, start, at time.Time) otlpjson.Point {
	return otlpjson.Point{Attributes: otlpjson.Attributes(attributes.ToSlice()), Start: otlpjson.Nanos(start), Time: otlpjson.Nanos(at)}
}

func numberPoints[N int64 | float64](points []metricdata.DataPoint[N]) []otlpjson.NumberPoint {
	out := make([]otlpjson.NumberPoint, len(points))
	for i, p := range points {
		out[i] = otlpjson.NumberPoint{
			Point:     pointOf(p.Attributes, p.StartTime, p.Time),
			Number:    otlpjson.NumberOf(p.Value),
			Exemplars: exemplars(p.Exemplars),
		}
	}
	return out
}

func sumOf[N int64 | float64](d metricdata.Sum[N]) (*otlpjson.Sum, error) {
	t, err := temporality(d.Temporality)
	return &otlpjson.Sum{Points: numberPoints(d.DataPoints), Temporality: t, Monotonic: d.IsMonotonic}, err
}

func histogramOf[N int64 | float64](d metricdata.Histogram[N]) (*otlpjson.Histogram, error) {
	t, err := temporality(d.Temporality)
	out := &otlpjson.Histogram{Temporality: t}
	for _, p := range d.DataPoints {
		bounds := make([]otlpjson.Double, len(p.Bounds))
		for i, b := range p.Bounds {
			bounds[i] = otlpjson.Double(b)
		}
		out.Points = append(out.Points, otlpjson.HistogramPoint{
			Point:        pointOf(p.Attributes, p.StartTime, p.Time),
			Distribution: distribution(p.Count, p.Sum, p.Min, p.Max, p.Exemplars),
			Bounds:       bounds,
			Counts:       p.BucketCounts,
		})
	}
	return out, err
}

func exponentialOf[N int64 | float64](d metricdata.ExponentialHistogram[N]) (*otlpjson.ExponentialHistogram, error) {
	t, err := temporality(d.Temporality)
	out := &otlpjson.ExponentialHistogram{Temporality: t}
	for _, p := range d.DataPoints {
		out.Points = append(out.Points, otlpjson.ExponentialPoint{
			Point:         pointOf(p.Attributes, p.StartTime, p.Time),
			Distribution:  distribution(p.Count, p.Sum, p.Min, p.Max, p.Exemplars),
			Scale:         p.Scale,
			ZeroCount:     p.ZeroCount,
			ZeroThreshold: otlpjson.Double(p.ZeroThreshold),
			Positive:      otlpjson.Buckets{Offset: p.PositiveBucket.Offset, Counts: p.PositiveBucket.Counts},
			Negative:      otlpjson.Buckets{Offset: p.NegativeBucket.Offset, Counts: p.NegativeBucket.Counts},
		})
	}
	return out, err
}

func distribution[N int64 | float64](count uint64, sum N, least, most metricdata.Extrema[N], values []metricdata.Exemplar[N]) otlpjson.Distribution {
	total := otlpjson.Double(sum)
	return otlpjson.Distribution{Count: count, Sum: &total, Min: extreme(least), Max: extreme(most), Exemplars: exemplars(values)}
}

func extreme[N int64 | float64](of metricdata.Extrema[N]) *otlpjson.Double {
	v, ok := of.Value()
	if !ok {
		return nil
	}
	d := otlpjson.Double(v)
	return &d
}

func summaryOf(d metricdata.Summary) *otlpjson.Summary {
	out := &otlpjson.Summary{}
	for _, p := range d.DataPoints {
		point := otlpjson.SummaryPoint{
			Point: pointOf(p.Attributes, p.StartTime, p.Time),
			Count: p.Count,
			Sum:   otlpjson.Double(p.Sum),
		}
		for _, q := range p.QuantileValues {
			point.Quantiles = append(point.Quantiles, otlpjson.Quantile{Quantile: otlpjson.Double(q.Quantile), Value: otlpjson.Double(q.Value)})
		}
		out.Points = append(out.Points, point)
	}
	return out
}

func exemplars[N int64 | float64](all []metricdata.Exemplar[N]) (out []otlpjson.Exemplar) {
	for _, src := range all {
		e := otlpjson.Exemplar{Number: otlpjson.NumberOf(src.Value), Attributes: otlpjson.Attributes(src.FilteredAttributes), Time: otlpjson.Nanos(src.Time)}
		if len(src.TraceID) >= len(e.TraceID) { // else it is none
			copy(e.TraceID[:], src.TraceID)
		}
		if len(src.SpanID) >= len(e.SpanID) {
			copy(e.SpanID[:], src.SpanID)
		}
		out = append(out, e)
	}
	return out
}
