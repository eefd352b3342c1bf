package spans

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// An Option sets how [WrapTracerProvider] measures.
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	hooks         []Hook
	store         Store
	recording     bool
	marks         bool
	panicsIgnored bool
	trusted       bool
	filter        func(ctx context.Context, name string) bool
	maxRegions    int
	maxSpans      int
	queue         int
}

// newConfig returns the defaults in place of what the error, if any, is about.
func newConfig(opts []Option) (config, error) {
	const maxRegions, maxSpans, queue = 2000, 4096, 1024
	c := config{recording: true, maxRegions: maxRegions, maxSpans: maxSpans, queue: queue}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	var errs []error
	check := func(what string, value *int, byDefault int) {
		if lo, hi := 1, int(1e6); *value < lo || *value > hi {
			errs = append(errs, fmt.Errorf("%w: %s %d: must be in [%d, %d]", ErrConfig, what, *value, lo, hi))
			*value = byDefault
		}
	}
	check("max regions", &c.maxRegions, maxRegions)
	check("max session spans", &c.maxSpans, maxSpans)
	check("queue size", &c.queue, queue)
	for i, h := range c.hooks {
		if h == nil {
			errs = append(errs, fmt.Errorf("%w: hook %d: must not be nil", ErrConfig, i))
		}
	}
	c.hooks = slices.DeleteFunc(c.hooks, func(h Hook) bool { return h == nil })
	return c, errors.Join(errs...)
}

// WithHook adds a hook. Hooks are called in the order in which they were added. Default: none.
func WithHook(h Hook) Option {
	return optionFunc(func(c config) config { c.hooks = append(c.hooks, h); return c })
}

// WithStore sets where finished sessions go. Default: a [Ring] of 16 MiB.
func WithStore(s Store) Option {
	return optionFunc(func(c config) config { c.store = s; return c })
}

// WithoutRecording measures no regions until [TracerProvider.SetRecording] switches that on.
// Default: regions are measured from the beginning.
func WithoutRecording() Option {
	return optionFunc(func(c config) config { c.recording = false; return c })
}

// WithMarks writes the starts and ends of spans, and the operations on the types of package causal,
// into the program's own execution traces too (runtime/trace, /debug/pprof/trace, a flight
// recorder), for "otelprof whatif" and "otelprof view". It holds for all providers, until the
// Shutdown of this one. A span takes about 0.5 µs more while a trace is on, and makes it some 100
// bytes longer. Default: marks are written only while this module records.
func WithMarks() Option {
	return optionFunc(func(c config) config { c.marks = true; return c })
}

// WithoutPanicRecording lets a panic that unwinds through a deferred End pass, without an exception
// event, like the SDK's option of that kind, which has this effect as well. Default: events are
// added.
func WithoutPanicRecording() Option {
	return optionFunc(func(c config) config { c.panicsIgnored = true; return c })
}

// WithTrustedSessions accepts the session ID that a caller sent in W3C baggage as the
// [SessionRecord.Origin]. Use it only where all callers are trusted. Default: what callers send
// is ignored.
func WithTrustedSessions() Option {
	return optionFunc(func(c config) config { c.trusted = true; return c })
}

// WithSessionFilter records the session of a local root only if keep returns true for
// the context and the name with which it is started. Its spans are measured all the same.
// One for which keep panics is recorded. Default: every session is recorded.
func WithSessionFilter(keep func(ctx context.Context, name string) bool) Option {
	return optionFunc(func(c config) config { c.filter = keep; return c })
}

// WithMaxRegions bounds the number of regions, the metrics' cardinality, in [1, 1e6]; spans of
// further names are measured under the one region "other". Default: 2000.
func WithMaxRegions(n int) Option {
	return optionFunc(func(c config) config { c.maxRegions = n; return c })
}

// WithMaxSessionSpans bounds the number of spans recorded in one session, in [1, 1e6]; the rest are
// counted as dropped. Default: 4096. All open sessions have 65,536 together, and 16 more each.
func WithMaxSessionSpans(n int) Option {
	return optionFunc(func(c config) config { c.maxSpans = n; return c })
}

// WithQueueSize bounds the number of ended sessions that wait for the worker, in [1, 1e6].
// Default: 1024.
func WithQueueSize(n int) Option {
	return optionFunc(func(c config) config { c.queue = n; return c })
}
