package hdrmetric

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"

	"github.com/otelprof/otelprof/otelhdr"
)

// A MeterProviderOption is a [Producer], or sets how a [MeterProvider] aggregates. What it sets
// holds for all readers; a [ProducerOption] is for one of them.
type MeterProviderOption interface {
	applyMeterProvider(meterConfig) meterConfig
}

type meterOptionFunc func(meterConfig) meterConfig

func (f meterOptionFunc) applyMeterProvider(c meterConfig) meterConfig { return f(c) }

// meterConfig is what options and environment say.
type meterConfig struct {
	producers        []*Producer
	views            []sdkmetric.View
	cardinalityLimit int // <= 0 for none
	exemplars        exemplarFilter
	histogram        []otelhdr.Option
	resolutions      map[string]uint64 // steps per unit
	seriesStart      bool              // a cumulative point starts with its series, not with its instrument
	errs             []error
}

func (c meterConfig) reject(err error) meterConfig {
	c.errs = append(c.errs, err)
	return c
}

// defaultCardinalityLimit is the SDK's.
const defaultCardinalityLimit = 2000

// newMeterConfig applies the environment and then the options. The config can be used without the
// options with an error.
func newMeterConfig(opts []MeterProviderOption) (meterConfig, error) {
	c := meterConfig{cardinalityLimit: defaultCardinalityLimit, exemplars: newExemplarFilter(exemplar.TraceBasedFilter)}
	switch strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_METRICS_EXEMPLAR_FILTER"))) {
	case "always_on":
		c.exemplars = newExemplarFilter(exemplar.AlwaysOnFilter)
	case "always_off":
		c.exemplars = newExemplarFilter(exemplar.AlwaysOffFilter)
	}
	const limitKey = "OTEL_GO_X_CARDINALITY_LIMIT"
	if v := strings.TrimSpace(os.Getenv(limitKey)); v != "" {
		if n, err := strconv.Atoi(v); err != nil {
			c = c.reject(fmt.Errorf("%w: %s %q: must be an integer", otelhdr.ErrConfig, limitKey, v))
		} else {
			c.cardinalityLimit = n
		}
	}
	c.seriesStart = strings.EqualFold(os.Getenv("OTEL_GO_X_PER_SERIES_START_TIMESTAMPS"), "true")
	for _, o := range opts {
		if o != nil {
			c = o.applyMeterProvider(c)
		}
	}
	if _, err := otelhdr.NewSnapshot(func(func(otelhdr.Bucket) bool) {}, c.histogram...); err != nil {
		c.histogram = nil
		c = c.reject(err)
	}
	return c, errors.Join(c.errs...)
}

// WithView adds views, as the SDK's option of that name does; give both the same. Their streams'
// names, descriptions, units, attribute filters and exemplar reservoirs apply, and each view that
// matches an instrument makes a stream of it. A filter must give the same answer for the same
// attribute, because what becomes of a set is remembered.
//
// Of a stream's Aggregation, AggregationDrop leaves the instrument out,
// AggregationBase2ExponentialHistogram bounds the scale by its MaxScale and may leave out the
// extremes, and AggregationDefault changes nothing. If any matching view asks for another
// aggregation, the instrument is not taken over but made by the wrapped provider, which needs the
// same view.
//
// Default: each instrument is one stream as it is.
func WithView(views ...sdkmetric.View) MeterProviderOption {
	return meterOptionFunc(func(c meterConfig) meterConfig {
		c.views = slices.Clip(c.views)
		for _, v := range views {
			if v != nil {
				c.views = append(c.views, v)
			}
		}
		return c
	})
}

// WithCardinalityLimit sets how many sets of attributes a stream keeps apart: limit-1, and all that
// come later share one with the attribute otel.metric.overflow=true. 0 and below set no limit.
//
// If all readers take deltas, a set that none of them has seen anything new of since its last
// collection no longer counts, once more than half of the limit is in use, or 1000 sets without
// one; bound instruments keep theirs. If any reader is cumulative, all sets since the instrument
// was made count.
//
// Default: OTEL_GO_X_CARDINALITY_LIMIT; if that is not set, 2000.
func WithCardinalityLimit(limit int) MeterProviderOption {
	return meterOptionFunc(func(c meterConfig) meterConfig {
		c.cardinalityLimit = limit
		return c
	})
}

// WithExemplarFilter sets which values are offered to the exemplar reservoirs, one for each series
// and reader, of 20 exemplars if no view sets another one. A value that is offered costs an SDK's
// exemplar: the time of day and a lock.
//
// Default: OTEL_METRICS_EXEMPLAR_FILTER (always_on, always_off or trace_based); if that is not set,
// [exemplar.TraceBasedFilter].
func WithExemplarFilter(f exemplar.Filter) MeterProviderOption {
	return meterOptionFunc(func(c meterConfig) meterConfig {
		if f == nil {
			return c.reject(fmt.Errorf("%w: exemplar filter nil: must be set", otelhdr.ErrConfig))
		}
		c.exemplars = newExemplarFilter(f)
		return c
	})
}

// WithHistogram sets the options of the histograms, one for each series: see
// [otelhdr.WithRelativeError] and [otelhdr.WithRange], which counts in steps of [WithResolution].
//
// Default: those of [otelhdr.NewConcurrent] without options.
func WithHistogram(opts ...otelhdr.Option) MeterProviderOption {
	return meterOptionFunc(func(c meterConfig) meterConfig {
		c.histogram = slices.Clone(opts)
		return c
	})
}

// WithResolution sets in how many steps a unit is counted by float64 instruments that have it. A
// value is rounded to the nearest step, which is half a step on top of the relative error, and the
// largest distinct value is 2^64 steps; see [MeterProvider.Irregular] for larger ones. Int64
// instruments count whole units.
//
// Default, by unit:
//
//	unit              steps of 1      largest value
//	s                 1 ns            584 years
//	ms                1 ns            584 years
//	us, µs            1 ns            584 years
//	ns                1 ps            213 days
//	min, h, d         1 ns            584 years
//	By                1/1000 By       18 PB
//	1, none           1e-9            1.8e10
//	any other         1e-6            1.8e13
func WithResolution(unit string, steps uint64) MeterProviderOption {
	return meterOptionFunc(func(c meterConfig) meterConfig {
		if steps == 0 {
			return c.reject(fmt.Errorf("%w: resolution of unit %q: 0 steps: must be at least 1", otelhdr.ErrConfig, unit))
		}
		c.resolutions = maps.Clone(c.resolutions)
		if c.resolutions == nil {
			c.resolutions = map[string]uint64{}
		}
		c.resolutions[unit] = steps
		return c
	})
}

// steps returns how many steps a unit of a float64 instrument has.
func (c *meterConfig) steps(unit string) uint64 {
	if n, ok := c.resolutions[unit]; ok {
		return n
	}
	return defaultSteps(unit)
}

// defaultSteps is the table of [WithResolution].
func defaultSteps(unit string) uint64 {
	const microsecond, millisecond, second = 1e3, 1e6, 1e9 // in ns
	switch unit {
	case "s":
		return second
	case "ms":
		return millisecond
	case "us", "µs":
		return microsecond
	case "ns":
		return 1e3
	case "min":
		return 60 * second
	case "h":
		return 3600 * second
	case "d":
		return 86_400 * second
	case "By":
		return 1e3
	case "1", "":
		return 1e9
	default:
		return 1e6
	}
}
