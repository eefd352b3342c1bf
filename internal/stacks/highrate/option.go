package highrate

import (
	"errors"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/internal/perf"
)

// What stands in the way of sampling. The errors that wrap these say what would help.
var (
	// errConfig is wrapped by errors about options.
	errConfig = errors.New("highrate: configuration")
	// ErrNotSupported: this system has no perf events.
	ErrNotSupported = perf.ErrNotSupported
)

// An Option sets how [NewProfiler] samples.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	rate int
}

const minRate, maxRate = 10, 10_000

func newConfig(opts []Option) (config, error) {
	c := config{rate: 1000}
	for _, o := range opts {
		c = o.apply(c)
	}
	if c.rate < minRate || c.rate > maxRate {
		return c, fmt.Errorf("%w: rate %d Hz: must be in [%d, %d]", errConfig, c.rate, minRate, maxRate)
	}
	return c, nil
}

func (c config) period() time.Duration { return time.Second / time.Duration(c.rate) }

// WithRate sets the number of samples taken in a second of CPU time, in [10, 10000]. Default:
// 1000.
func WithRate(hz int) Option {
	return optionFunc(func(c config) config { c.rate = hz; return c })
}
