package saved

import (
	"errors"
	"fmt"
	"math"
)

const (
	defaultSessions = 10_000
	defaultBytes    = min(2<<30, math.MaxInt) // an int has 32 bits on some systems
)

// An Option sets what a [Reader] keeps.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	sessions, bytes int
	service         string
	problems        []error
}

func newConfig(opts []Option) (config, error) {
	c := config{sessions: defaultSessions, bytes: defaultBytes}
	for _, o := range opts {
		c = o.apply(c)
	}
	return c, errors.Join(c.problems...)
}

func (c config) positive(what string, n int) config {
	if n < 1 {
		c.problems = append(c.problems, fmt.Errorf("%w: %s %d: must be above 0", ErrConfig, what, n))
	}
	return c
}

// WithMaxSessions bounds the number of sessions kept; the ones that ended last stay. Default:
// 10,000.
func WithMaxSessions(n int) Option {
	return optionFunc(func(c config) config { c.sessions = n; return c.positive("sessions", n) })
}

// WithMaxBytes bounds the memory that the sessions take, about, and as much for the histograms of
// .hlog files. One session is always kept, and a log is read until they take more. Default: 2 GiB,
// a byte less where an int has 32 bits.
func WithMaxBytes(n int) Option {
	return optionFunc(func(c config) config { c.bytes = n; return c.positive("bytes", n) })
}

// WithService takes only data of this service.name. Default: all services; the scopes of regions
// name the service if there are several.
func WithService(name string) Option {
	return optionFunc(func(c config) config { c.service = name; return c })
}
