package hdrmetric

import (
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelprof/otelprof/otelhdr"
)

// A ProducerOption sets how a [Producer] reports.
type ProducerOption interface {
	applyProducer(producerConfig) producerConfig
}

type producerOptionFunc func(producerConfig) producerConfig

func (f producerOptionFunc) applyProducer(c producerConfig) producerConfig { return f(c) }

type producerConfig struct {
	temporality metricdata.Temporality
	scale       int32
	explicit    bool
	bounds      []float64 // nil for denseBounds
	errs        []error
}

func (c producerConfig) reject(format string, args ...any) producerConfig {
	c.errs = append(c.errs, fmt.Errorf("%w: %w", otelhdr.ErrConfig, fmt.Errorf(format, args...)))
	return c
}

// defaultExportScale is the finest that Prometheus keeps: buckets are 0.27 % wide.
const defaultExportScale = 8

// newProducerConfig applies the options, except the ones that the error is about.
func newProducerConfig(opts []ProducerOption) (producerConfig, error) {
	c := producerConfig{temporality: metricdata.CumulativeTemporality, scale: defaultExportScale}
	for _, o := range opts {
		if o != nil {
			c = o.applyProducer(c)
		}
	}
	return c, errors.Join(c.errs...)
}

// WithTemporality sets whether points are of what was recorded since the instrument was made, or
// since the last collection; take what the exporter says of sdkmetric.InstrumentKindHistogram. A
// delta's minimum and maximum are exact where they are those of all time, and otherwise within a
// bucket of the HDR histogram, twice its relative error.
//
// Default: cumulative.
func WithTemporality(t metricdata.Temporality) ProducerOption {
	return producerOptionFunc(func(c producerConfig) producerConfig {
		if t != metricdata.CumulativeTemporality && t != metricdata.DeltaTemporality {
			return c.reject("temporality %d: must be cumulative or delta", t)
		}
		c.temporality = t
		return c
	})
}

// Scales of exponential histograms that the OpenTelemetry SDK uses.
const minScale, maxScale = -10, 20

// WithScale sets the scale of the exponential histograms, in [-10, 20], see
// [otelhdr.Snapshot.Exponential]: a bucket's bounds are 2^(2^-scale) apart. Above 8 the scale of a
// point may be lower, so that it has at most 16640 buckets, and change from one collection to the
// next. Prometheus reduces scales above 8 and rejects those below -4.
//
// Default: 8.
func WithScale(scale int32) ProducerOption {
	return producerOptionFunc(func(c producerConfig) producerConfig {
		if scale < minScale || scale > maxScale {
			return c.reject("scale %d: must be in [%d, %d]", scale, minScale, maxScale)
		}
		c.scale = scale
		return c
	})
}

// WithExplicitBuckets reports histograms with explicit bounds in place of exponential ones, for
// archives and for backends without the latter. The bounds of an instrument never change. They are
// those of its option WithExplicitBucketBoundaries if it has any, those given here otherwise, and
// if none are given dense ones: 16 for each octave, up to 2^44 steps of [WithResolution], which for
// seconds is 4.9 hours and makes 658 buckets of 8 bytes in every point.
//
// A value within the relative error of a bound may be counted on either side of it.
//
// Default: exponential histograms.
func WithExplicitBuckets(bounds ...float64) ProducerOption {
	return producerOptionFunc(func(c producerConfig) producerConfig {
		if err := validBounds("", bounds); err != nil {
			return c.reject("bucket boundaries %v: must ascend", bounds)
		}
		c.explicit, c.bounds = true, slices.Clone(bounds)
		return c
	})
}
