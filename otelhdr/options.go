package otelhdr

import (
	"errors"
	"fmt"
	"math"
)

// ErrConfig is wrapped by every error about an option.
var ErrConfig = errors.New("otelhdr: invalid configuration")

// defaultRelativeError is 0.1 %, which gives 512 buckets an octave.
const defaultRelativeError = 0.001

// An Option changes how a histogram is laid out.
type Option interface {
	apply(config) config
}

type config struct {
	relativeError   float64
	lowest, highest uint64
}

// newConfig applies the options in their order and reports every value that is out of bounds. Nothing is clamped.
func newConfig(opts []Option) (config, error) {
	c := config{relativeError: defaultRelativeError, highest: math.MaxUint64}
	for _, o := range opts {
		c = o.apply(c)
	}
	var errs []error
	// Written so that NaN fails too.
	if !(c.relativeError >= minRelativeError && c.relativeError <= maxRelativeError) {
		errs = append(errs, fmt.Errorf("%w: relative error %g: must be in [%g, %g]",
			ErrConfig, c.relativeError, minRelativeError, maxRelativeError))
	}
	if c.lowest > c.highest {
		errs = append(errs, fmt.Errorf("%w: range [%d, %d]: minimum must not exceed maximum",
			ErrConfig, c.lowest, c.highest))
	}
	return c, errors.Join(errs...)
}

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

// WithRelativeError asks for buckets whose middle is no further than e, a fraction, from any value in them: 0.01 is
// 1 %. The histogram keeps the next finer error of the form 0.5/2^k, which RelativeError reports; storage doubles with
// every k. New rejects an e outside [1e-6, 0.1].
//
// By default, if this option is not used, the error is 0.001, of which the layout makes 0.5/512.
func WithRelativeError(e float64) Option {
	return optionFunc(func(c config) config {
		c.relativeError = e
		return c
	})
}

// WithRange limits storage to the values in [lowest, highest], widened to whole buckets: the Range method reports the
// result. Values outside are still counted, see [Snapshot.Underflow] and [Snapshot.Overflow], and still belong to the
// sum, the minimum and the maximum. New rejects lowest > highest.
//
// By default, if this option is not used, the range is all of uint64.
func WithRange(lowest, highest uint64) Option {
	return optionFunc(func(c config) config {
		c.lowest, c.highest = lowest, highest
		return c
	})
}
