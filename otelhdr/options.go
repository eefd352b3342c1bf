package otelhdr

import (
	"errors"
	"fmt"
	"math"
)

// ErrConfig is wrapped by every error about an option.
var ErrConfig = errors.New("otelhdr: configuration")

// defaultRelativeError is 0.1 %, which gives 512 buckets an octave.
const defaultRelativeError = 0.001

// An Option changes how a histogram is laid out.
type Option interface {
	apply(config) config
}

type config struct {
	relativeError   float64
	digits          int
	byDigits        bool // the last option asked for digits, not for relativeError
	lowest, highest uint64
	counter32       bool
	equivalent      Equivalent
}

// digitScales are the scales of the layouts of 1 to 5 significant digits.
var digitScales = [...]uint{4, 7, 10, 14, 17}

// newConfig applies the options in their order and reports every value that is out of bounds.
// Nothing is clamped.
func newConfig(opts []Option) (config, error) {
	c := config{relativeError: defaultRelativeError, highest: math.MaxUint64}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	var errs []error
	if c.byDigits {
		if c.digits < 1 || c.digits > len(digitScales) {
			errs = append(errs, fmt.Errorf("%w: significant digits %d: must be in [1, %d]", ErrConfig, c.digits, len(digitScales)))
			c.digits = len(digitScales)
		}
		c.relativeError = 0.5 / float64(uint64(1)<<digitScales[c.digits-1])
	}
	// Written so that NaN fails too.
	if !(c.relativeError >= minRelativeError && c.relativeError <= maxRelativeError) {
		errs = append(errs, fmt.Errorf("%w: relative error %g: must be in [%g, %g]",
			ErrConfig, c.relativeError, minRelativeError, maxRelativeError))
	}
	if c.lowest > c.highest {
		errs = append(errs, fmt.Errorf("%w: range [%d, %d]: minimum must not exceed maximum",
			ErrConfig, c.lowest, c.highest))
	}
	if c.equivalent > EquivalentHigh {
		errs = append(errs, fmt.Errorf("%w: equivalent %d: must be EquivalentLow, EquivalentMid or EquivalentHigh",
			ErrConfig, c.equivalent))
	}
	return c, errors.Join(errs...)
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithRelativeError asks for buckets whose middle is no further than e, a fraction, from any value
// in them: 0.01 is 1 %. The histogram keeps the next finer error of the form 0.5/2^k, which
// RelativeError reports; storage doubles with every k. NewHistogram rejects an e outside [1e-6,
// 0.1].
//
// Default: 0.001, of which the layout makes 0.5/512.
func WithRelativeError(e float64) Option {
	return optionFunc(func(c config) config {
		c.relativeError, c.byDigits = e, false
		return c
	})
}

// WithSignificantDigits asks for the buckets that HdrHistogram has for as many significant decimal
// digits and 1 as its lowest discernible value, so that counts go from one to the other bucket by
// bucket. The relative error is 0.5/2^k with k = 4, 7, 10, 14, 17 for 1 to 5 digits. NewHistogram
// rejects any other number.
//
// Of this option and [WithRelativeError] the last one holds. Default, if neither is used: an error
// of 0.001.
func WithSignificantDigits(digits int) Option {
	return optionFunc(func(c config) config {
		c.digits, c.byDigits = digits, true
		return c
	})
}

// WithCounter32 starts a [Histogram] with counters of 32 bits instead of 64, which halves its
// memory, though not that of its snapshots. No count is lost, wrapped or cut off: where a counter
// is about to outgrow 32 bits, all go on with 64. A record costs about a nanosecond more. A
// [Concurrent] is not changed by it: its counters have one bit at first in any case.
//
// Default: the counters of a Histogram have 64 bits.
func WithCounter32() Option {
	return optionFunc(func(c config) config {
		c.counter32 = true
		return c
	})
}

// WithEquivalent chooses the value that percentiles give for a bucket.
//
// Default: [EquivalentMid].
func WithEquivalent(e Equivalent) Option {
	return optionFunc(func(c config) config {
		c.equivalent = e
		return c
	})
}

// WithRange limits storage to the values in [lowest, highest], widened to whole buckets: the Range
// method reports the result. Values outside are still counted, see [Snapshot.Underflow] and
// [Snapshot.Overflow], and still belong to the sum, the minimum and the maximum. NewHistogram
// rejects lowest > highest.
//
// Default: all of uint64.
func WithRange(lowest, highest uint64) Option {
	return optionFunc(func(c config) config {
		c.lowest, c.highest = lowest, highest
		return c
	})
}
