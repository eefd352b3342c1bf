package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal/internal/validate"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/glob"
)

// Epochs of less are mostly guard intervals, those of more leave too few for a plan's life.
const (
	leastEpoch = 2 * time.Second
	mostEpoch  = time.Minute
	mostWatch  = 16
)

// ByClock reports whether the clock chooses the plan's experiments.
func (p *Plan) ByClock() bool { return p.Timing.Epoch > 0 }

// validateEpochs checks what processes must know alike without asking each other.
func (p *Plan) validateEpochs(v *validate.Errors) {
	v.That(len(p.Target.Watch) <= mostWatch, "target.watch", nil, "must have at most %d entries, not %d", mostWatch, len(p.Target.Watch))
	for i, name := range p.Target.Watch {
		v.That(name != "" && len(name) <= 256, fmt.Sprintf("target.watch[%d]", i), name, "must have 1 to 256 characters")
	}
	if !p.ByClock() {
		v.That(p.Timing.Epoch == 0, "timing.epoch", p.Timing.Epoch, "must be in [%v, %v]", leastEpoch, mostEpoch)
		v.That(len(p.Target.Watch) == 0, "target.watch", nil, "must be given with timing.epoch only: other experiments are chosen by each process itself")
		return
	}
	v.In("timing.epoch", time.Duration(p.Timing.Epoch), leastEpoch, mostEpoch)
	v.That(p.Mode == profile.ModeSlowdown, "timing.epoch", p.Timing.Epoch, "must be given in mode %q only", profile.ModeSlowdown)
	v.That(len(p.Target.Watch) == 0 || p.Target.Service != "", "target.service", nil, "must be given with target.watch: it is the service that delays")
	for i, r := range p.Regions {
		v.That(!slices.Contains(p.Regions[:i], r), fmt.Sprintf("regions[%d]", i), r, "must not be repeated in plans with timing.epoch")
		v.That(literal(r.Scope) && literal(r.Span), fmt.Sprintf("regions[%d]", i), r, "must have a scope and a span without * and ?, in plans with timing.epoch: all processes must know the same regions")
	}
}

// literal reports whether a pattern matches one name alone.
func literal(pattern string) bool {
	return pattern != "" && glob.Quote(glob.Name(pattern)) == pattern
}
