package otlpfile

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/internal/otlpattr"
)

// metricsOf returns what OTLP has words for. The error names metrics it has none for; they
// are left out.
func metricsOf(rm *metricdata.ResourceMetrics) (pmetric.Metrics, error) {
	out := pmetric.NewMetrics()
	rms := out.ResourceMetrics().AppendEmpty()
	putResource(rms.Resource(), rm.Resource)
	rms.SetSchemaUrl(rm.Resource.SchemaURL())
	var errs []error
	for _, sm := range rm.ScopeMetrics {
		sms := rms.ScopeMetrics().AppendEmpty()
		putScope(sms.Scope(), sm.Scope)
		sms.SetSchemaUrl(sm.Scope.SchemaURL)
		for _, m := range sm.Metrics {
			if err := putMetric(sms.Metrics(), m); err != nil {
				errs = append(errs, fmt.Errorf("otlpfile: metric %q: %w", m.Name, err))
			}
		}
	}
	return out, errors.Join(errs...)
}

func putMetric(dst pmetric.MetricSlice, src metricdata.Metrics) error {
	m := pmetric.NewMetric()
	m.SetName(otlpattr.UTF8(src.Name))
	m.SetDescription(otlpattr.UTF8(src.Description))
	m.SetUnit(otlpattr.UTF8(src.Unit))
	var err error
	switch d := src.Data.(type) {
	case metricdata.Gauge[int64]:
		putNumbers(m.SetEmptyGauge().DataPoints(), d.DataPoints)
	case metricdata.Gauge[float64]:
		putNumbers(m.SetEmptyGauge().DataPoints(), d.DataPoints)
	case metricdata.Sum[int64]:
		err = putSum(m.SetEmptySum(), d)
	case metricdata.Sum[float64]:
		err = putSum(m.SetEmptySum(), d)
	case metricdata.Histogram[int64]:
		err = putHistogram(m.SetEmptyHistogram(), d)
	case metricdata.Histogram[float64]:
		err = putHistogram(m.SetEmptyHistogram(), d)
	case metricdata.ExponentialHistogram[int64]:
		err = putExponential(m.SetEmptyExponentialHistogram(), d)
	case metricdata.ExponentialHistogram[float64]:
		err = putExponential(m.SetEmptyExponentialHistogram(), d)
	case metricdata.Summary:
		putSummary(m.SetEmptySummary(), d)
	default:
		err = fmt.Errorf("aggregation %T: must be one of OTLP's", d)
	}
	if err == nil {
		m.MoveTo(dst.AppendEmpty())
	}
	return err
}

func temporality(t metricdata.Temporality) (pmetric.AggregationTemporality, error) {
	switch t {
	case metricdata.CumulativeTemporality:
		return pmetric.AggregationTemporalityCumulative, nil
	case metricdata.DeltaTemporality:
		return pmetric.AggregationTemporalityDelta, nil
	default:
		return 0, fmt.Errorf("temporality %s: must be cumulative or delta", t)
	}
}

func putSum[N int64 | float64](dst pmetric.Sum, src metricdata.Sum[N]) error {
	t, err := temporality(src.Temporality)
	dst.SetAggregationTemporality(t)
	dst.SetIsMonotonic(src.IsMonotonic)
	putNumbers(dst.DataPoints(), src.DataPoints)
	return err
}

func putNumbers[N int64 | float64](dst pmetric.NumberDataPointSlice, points []metricdata.DataPoint[N]) {
	dst.EnsureCapacity(len(points))
	for _, src := range points {
		p := dst.AppendEmpty()
		otlpattr.Put(p.Attributes(), src.Attributes.ToSlice())
		p.SetStartTimestamp(timestamp(src.StartTime))
		p.SetTimestamp(timestamp(src.Time))
		putExemplars(p.Exemplars(), src.Exemplars)
		switch v := any(src.Value).(type) {
		case int64:
			p.SetIntValue(v)
		case float64:
			p.SetDoubleValue(v)
		}
	}
}

func putHistogram[N int64 | float64](dst pmetric.Histogram, src metricdata.Histogram[N]) error {
	t, err := temporality(src.Temporality)
	dst.SetAggregationTemporality(t)
	for _, src := range src.DataPoints {
		p := dst.DataPoints().AppendEmpty()
		otlpattr.Put(p.Attributes(), src.Attributes.ToSlice())
		p.SetStartTimestamp(timestamp(src.StartTime))
		p.SetTimestamp(timestamp(src.Time))
		p.SetCount(src.Count)
		p.SetSum(float64(src.Sum))
		if v, ok := src.Min.Value(); ok {
			p.SetMin(float64(v))
		}
		if v, ok := src.Max.Value(); ok {
			p.SetMax(float64(v))
		}
		p.ExplicitBounds().FromRaw(src.Bounds)
		p.BucketCounts().FromRaw(src.BucketCounts)
		putExemplars(p.Exemplars(), src.Exemplars)
	}
	return err
}

func putExponential[N int64 | float64](dst pmetric.ExponentialHistogram, src metricdata.ExponentialHistogram[N]) error {
	t, err := temporality(src.Temporality)
	dst.SetAggregationTemporality(t)
	for _, src := range src.DataPoints {
		p := dst.DataPoints().AppendEmpty()
		otlpattr.Put(p.Attributes(), src.Attributes.ToSlice())
		p.SetStartTimestamp(timestamp(src.StartTime))
		p.SetTimestamp(timestamp(src.Time))
		p.SetCount(src.Count)
		p.SetSum(float64(src.Sum))
		if v, ok := src.Min.Value(); ok {
			p.SetMin(float64(v))
		}
		if v, ok := src.Max.Value(); ok {
			p.SetMax(float64(v))
		}
		p.SetScale(src.Scale)
		p.SetZeroCount(src.ZeroCount)
		p.SetZeroThreshold(src.ZeroThreshold)
		p.Positive().SetOffset(src.PositiveBucket.Offset)
		p.Positive().BucketCounts().FromRaw(src.PositiveBucket.Counts)
		p.Negative().SetOffset(src.NegativeBucket.Offset)
		p.Negative().BucketCounts().FromRaw(src.NegativeBucket.Counts)
		putExemplars(p.Exemplars(), src.Exemplars)
	}
	return err
}

func putSummary(dst pmetric.Summary, src metricdata.Summary) {
	for _, src := range src.DataPoints {
		p := dst.DataPoints().AppendEmpty()
		otlpattr.Put(p.Attributes(), src.Attributes.ToSlice())
		p.SetStartTimestamp(timestamp(src.StartTime))
		p.SetTimestamp(timestamp(src.Time))
		p.SetCount(src.Count)
		p.SetSum(src.Sum)
		for _, q := range src.QuantileValues {
			v := p.QuantileValues().AppendEmpty()
			v.SetQuantile(q.Quantile)
			v.SetValue(q.Value)
		}
	}
}

func putExemplars[N int64 | float64](dst pmetric.ExemplarSlice, exemplars []metricdata.Exemplar[N]) {
	for _, src := range exemplars {
		e := dst.AppendEmpty()
		otlpattr.Put(e.FilteredAttributes(), src.FilteredAttributes)
		e.SetTimestamp(timestamp(src.Time))
		switch v := any(src.Value).(type) {
		case int64:
			e.SetIntValue(v)
		case float64:
			e.SetDoubleValue(v)
		}
		var traceID pcommon.TraceID
		var spanID pcommon.SpanID
		if copy(traceID[:], src.TraceID) == len(traceID) {
			e.SetTraceID(traceID)
		}
		if copy(spanID[:], src.SpanID) == len(spanID) {
			e.SetSpanID(spanID)
		}
	}
}
