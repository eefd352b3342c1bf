package causal

import (
	"fmt"

	"github.com/otelprof/otelprof/causal/plan"
)

// audience returns why a signed plan may not be put in force here: a signature only proves the
// author, so the plan itself must have a target and a generation. Else one that was signed for
// staging would run in production, and an old one could be replayed.
func (c *Controller) audience(p *plan.Plan) error {
	switch {
	case p.Generation == 0:
		return fmt.Errorf("%w: generation: must be above 0 in a signed plan", ErrAudience)
	case p.Target.Service == "":
		return fmt.Errorf("%w: target.service: must be given in a signed plan", ErrAudience)
	case p.Target.Env == "" && c.env != "":
		return fmt.Errorf("%w: target.env: must be given in a signed plan, since this process is in %q", ErrAudience, c.env)
	}
	return nil
}
