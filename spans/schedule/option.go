package schedule

import (
	"errors"
	"fmt"
	"time"
)

// ErrConfig is wrapped by errors about options.
var ErrConfig = errors.New("schedule: configuration")

// An Option sets what a [Recorder] keeps.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	window    time.Duration
	maxBytes  int
	threshold time.Duration
}

func newConfig(opts []Option) (config, error) {
	c := config{window: 10 * time.Second, maxBytes: 8 << 20}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	var errs []error
	if c.window < time.Second || c.window > 5*time.Minute {
		errs = append(errs, fmt.Errorf("%w: window %v: must be in [1s, 5m]", ErrConfig, c.window))
	}
	if lo, hi := 1<<20, 256<<20; c.maxBytes < lo || c.maxBytes > hi {
		errs = append(errs, fmt.Errorf("%w: max bytes %d: must be in [%d, %d]", ErrConfig, c.maxBytes, lo, hi))
	}
	if c.threshold < 0 {
		errs = append(errs, fmt.Errorf("%w: threshold %v: must not be negative", ErrConfig, c.threshold))
	}
	return c, errors.Join(errs...)
}

// WithWindow sets how far back a snapshot goes at least, in [1 s, 5 min], if that many events have
// room. Default: 10 s.
func WithWindow(d time.Duration) Option {
	return optionFunc(func(c config) config { c.window = d; return c })
}

// WithMaxBytes bounds the events that are kept, in [1 MiB, 256 MiB]. The runtime takes it as a
// hint; a snapshot of more than twice as much is an error. Default: 8 MiB.
func WithMaxBytes(n int) Option {
	return optionFunc(func(c config) config { c.maxBytes = n; return c })
}

// WithThreshold makes a report of its own accord when a session has taken longer, once a minute at
// most, see [Recorder.Slow]. Default: 0, none.
func WithThreshold(d time.Duration) Option {
	return optionFunc(func(c config) config { c.threshold = d; return c })
}
