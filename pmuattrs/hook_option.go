package pmuattrs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// ErrConfig is wrapped by errors about options.
var ErrConfig = errors.New("pmuattrs: configuration")

// defaultEvery is one in how many spans is measured, if no option sets something else.
const defaultEvery = 100

// A HookOption sets what a [Hook] measures.
type HookOption interface {
	applyHook(hookConfig) hookConfig
}

type hookOptionFunc func(hookConfig) hookConfig

func (f hookOptionFunc) applyHook(c hookConfig) hookConfig { return f(c) }

type hookConfig struct {
	events   []Event
	rate     rate // where no rule matches
	rules    []rule
	unlocked bool
	errs     []error
}

func defaultEvents() []Event { return []Event{Cycles, Instructions, BranchMisses, L1DReadMisses} }

func newHookConfig(opts []HookOption) (hookConfig, error) {
	c := hookConfig{events: defaultEvents(), rate: oneIn(defaultEvery)}
	for _, o := range opts {
		if o != nil {
			c = o.applyHook(c)
		}
	}
	return c, errors.Join(c.errs...)
}

// oneIn makes the rate of an option, called what.
func (c *hookConfig) oneIn(what string, n int) rate {
	const most = 1e9
	if n < 0 || n > most {
		c.errs = append(c.errs, fmt.Errorf("%w: %s: 1 in %d: must be in [0, %g]", ErrConfig, what, n, most))
		return 0
	}
	return oneIn(n)
}

// WithEvents sets what is counted, 1 to 8 events. Events that the machine does not have
// are left out, see [Hook.Reason]. Default: [Cycles], [Instructions], [BranchMisses] and
// [L1DReadMisses].
func WithEvents(events ...Event) HookOption {
	return hookOptionFunc(func(c hookConfig) hookConfig {
		if n := len(events); n < 1 || n > maxEvents {
			c.errs = append(c.errs, fmt.Errorf("%w: %d events: must be in [1, %d]", ErrConfig, n, maxEvents))
		}
		if err := checkEvents(events); err != nil {
			c.errs = append(c.errs, fmt.Errorf("%w: %w", ErrConfig, err))
		}
		c.events = slices.Clone(events)
		return c
	})
}

// WithSampling measures 1 in n spans, chosen at random; all if n is 1, none if it is 0. Rules
// for names and scopes come before it. Default: 100.
func WithSampling(n int) HookOption {
	return hookOptionFunc(func(c hookConfig) hookConfig {
		c.rate = c.oneIn("sampling", n)
		return c
	})
}

// WithRegions measures 1 in n of the spans whose name, as given at start, matches the pattern:
// all if n is 1, none if it is 0. In a pattern "*" stands for any characters, slashes
// included, "?" for one, and "\" takes the next one literally. Of several rules the first that
// matches counts. Default: [WithSampling] holds for all names.
func WithRegions(pattern string, n int) HookOption {
	return withRule("regions", rule{name: pattern, scope: "*"}, n)
}

// WithScopes is [WithRegions] for the names of instrumentation scopes.
func WithScopes(pattern string, n int) HookOption {
	return withRule("scopes", rule{name: "*", scope: pattern}, n)
}

func withRule(what string, r rule, n int) HookOption {
	return hookOptionFunc(func(c hookConfig) hookConfig {
		r.rate = c.oneIn(what, n)
		c.rules = append(c.rules, r)
		return c
	})
}

// WithoutLock leaves goroutines free to change threads while a span of the sample is open: to wait
// costs what it always does, so every span can be in the sample, see [WithSampling]. Go's scheduler
// then knows whether the goroutine ever stopped running. If it did not, no other ran on its thread,
// and the counts are exact; if it did, waited say or was preempted, there are none, see
// [Stats.Stopped]. A system call is no stop, unless all of Go's processors are taken when it
// returns. Needs a program built by "otelprof build"; in others it is an error. Default: goroutines
// are locked, and spans that wait have counts.
func WithoutLock() HookOption {
	return hookOptionFunc(func(c hookConfig) hookConfig {
		if !sched.Present {
			c.errs = append(c.errs, fmt.Errorf(`%w: without lock: the scheduler does not take part: must be built by "otelprof build"`, ErrConfig))
		}
		c.unlocked = true
		return c
	})
}
