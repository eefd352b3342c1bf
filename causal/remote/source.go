package remote

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// ErrConfig is wrapped by errors about options.
var ErrConfig = errors.New("causal/remote: config")

// missedPolls is how many times in a row a source may fail to answer before its plan ends.
const missedPolls = 3

// A Source is a place that plans come from.
type Source interface {
	// String names the place, without secrets, in the audit and in errors.
	String() string
	// Interval is the longest time between two polls, above zero. A plan ends when nothing
	// was heard for three of them.
	Interval() time.Duration
	// Run polls until ctx ends, and tells to what it hears.
	Run(ctx context.Context, to *Sink)
}

// An Option sets how [Follow] takes what a source brings.
type Option interface{ apply(*Sink) }

type optionFunc func(*Sink)

func (f optionFunc) apply(s *Sink) { f(s) }

// WithPublicKeys refuses documents that none of these keys has signed, all if there are no
// keys. By default, if this option is not used, signatures are not looked at.
func WithPublicKeys(keys ...ed25519.PublicKey) Option {
	return optionFunc(func(s *Sink) { s.signed, s.keys = true, keys })
}

// WithLogger sets who is told, once per cause, that a source does not answer, and of its
// return. What becomes of plans is in the controller's audit. By default, if this option is not
// used, it is otel.Handle.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(s *Sink) { s.log = l })
}

// Follow gives c the plans of a source until ctx ends; the plan then in force ends too, if it is
// from there. Several sources may be followed at a time: the plan that came last is in force.
//
// A panic in the source, or in what it calls, ends the plan and Follow, and is said; the
// application goes on.
func Follow(ctx context.Context, c *causal.Controller, source Source, opts ...Option) {
	s := newSink(c, causal.Source{Name: source.String(), Lease: missedPolls * source.Interval()}, opts)
	defer s.end()
	source.Run(ctx, s)
}
