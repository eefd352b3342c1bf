package remote

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/http/planhttp"
)

// ErrConfig is wrapped by errors about options.
var ErrConfig = planhttp.ErrConfig

// missedPolls is for how many intervals a source may fail to answer before its plan ends.
const missedPolls = 3

// A Source is a place that plans come from.
type Source interface {
	// String names the place, without secrets, in the audit and in errors.
	String() string
	// Interval is the longest time between two polls, above zero. A plan ends when nothing
	// was heard for three of them.
	Interval() time.Duration
	// Run polls until ctx ends, and gives to what it gets.
	Run(ctx context.Context, to *Sink)
}

// An Option sets how [Follow] takes what a source brings.
type Option interface{ apply(*Sink) }

type optionFunc func(*Sink)

func (f optionFunc) apply(s *Sink) { f(s) }

// WithPublicKeys refuses documents that none of these keys has signed, all if there are no keys,
// and signed plans without an audience, see [causal.Source]. Default: signatures are not checked.
func WithPublicKeys(keys ...ed25519.PublicKey) Option {
	return optionFunc(func(s *Sink) { s.source.Signed, s.keys = true, keys })
}

// WithLogger sets where it is logged, once per cause, that a source does not answer, and that it
// does again. What becomes of plans is in the controller's audit. Default: otel.Handle.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(s *Sink) { s.log = l })
}

// Follow gives c the plans of a source until ctx ends; the plan then in force ends too, if it is
// from there. Several sources may be followed at a time: the plan that came last is in force.
//
// A panic in the source, or in what it calls, ends the plan and Follow, and is logged; the
// application goes on.
func Follow(ctx context.Context, c *causal.Controller, source Source, opts ...Option) {
	s := newSink(c, fmt.Sprintf("%T", source), opts)
	defer s.end()
	s.source.Name = source.String()
	s.source.Lease = missedPolls * source.Interval()
	if f, ok := source.(*File); ok {
		s.source.File = f.path
	}
	source.Run(ctx, s)
}
