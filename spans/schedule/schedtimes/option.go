package schedtimes

import (
	"errors"
	"fmt"
	"slices"
)

// An Option sets which spans a [Hook] times.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	patterns []string
	errs     []error
}

func newConfig(opts []Option) (config, error) {
	var c config
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return c, errors.Join(c.errs...)
}

// WithRegions times the spans whose name, as given at start, matches one of the patterns. In a
// pattern "*" stands for any characters, slashes included, "?" for one, and "\" takes the next one
// literally. Default: all spans.
func WithRegions(patterns ...string) Option {
	return optionFunc(func(c config) config {
		if len(patterns) == 0 || slices.Contains(patterns, "") {
			c.errs = append(c.errs, fmt.Errorf("%w: regions %q: must be patterns, none of them empty", ErrConfig, patterns))
		}
		c.patterns = append(slices.Clone(c.patterns), patterns...)
		return c
	})
}
