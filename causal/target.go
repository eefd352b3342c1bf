package causal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/otelprof/otelprof/causal/plan"
)

// foreign returns why a plan is for other services or environments, whose generations are counted
// there; "" if it is for this one.
func (c *Controller) foreign(p *plan.Plan) string {
	t := p.Target
	switch {
	case t.Service != "" && t.Service != c.service && !slices.Contains(t.Watch, c.service):
		return fmt.Sprintf("the plan is for service %q, this is %q", t.Service, c.service)
	case t.Env != "" && t.Env != c.env:
		return fmt.Sprintf("the plan is for environment %q, this is %q", t.Env, c.env)
	}
	return ""
}

// misses returns why a plan is not for this process, "" if it is.
func (c *Controller) misses(p *plan.Plan) string {
	if why := c.foreign(p); why != "" {
		return why
	}
	if p.ByClock() { // the others count
		return ""
	}
	return c.spared(p)
}

// spared returns why this is not one of the instances that a plan chooses, "" if it is.
func (c *Controller) spared(p *plan.Plan) string {
	switch percent := p.Target.Instances.Percent; {
	case percent > 0 && percent < 100 && c.id == "":
		return fmt.Sprintf("the plan is for %g%% of the instances, this one has no service.instance.id", percent)
	case percent > 0 && share(p.ID, c.id) >= percent:
		return fmt.Sprintf("the plan is for %g%% of the instances, this one is not among them", percent)
	}
	return ""
}

// countsOnly reports whether a plan by the clock has others delay: another service, or other
// instances of this one.
func (c *Controller) countsOnly(p *plan.Plan) bool {
	t := p.Target
	return p.ByClock() && (t.Service != "" && t.Service != c.service || c.spared(p) != "")
}

// share places an instance in [0, 100), evenly over instances and anew for each plan.
func share(plan, instance string) float64 {
	// IDs that differ in their last digits only need a hash that mixes all bits.
	h := sha256.Sum256([]byte(plan + "\x00" + instance))
	return float64(binary.BigEndian.Uint64(h[:])>>11) / (1 << 53) * 100
}
