package causal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
)

// A signed plan that could be put in force elsewhere, or again, is refused; the same plan from a
// source that checks no signature is not.
func TestSignedPlanNamesItsAudience(t *testing.T) {
	const production = "generation: 1\ntarget: {service: shop, env: production}"
	for _, tt := range []struct {
		name, lines string
		opts        []Option
		want        string
	}{
		{"complete", production, []Option{process("shop", "production", "1")}, ""},
		{"no environment here", "generation: 1\ntarget: {service: shop}", []Option{process("shop", "", "1")}, ""},
		{"no generation", "target: {service: shop, env: production}", []Option{process("shop", "production", "1")}, "generation: must be above 0"},
		{"no service", "generation: 1\ntarget: {env: production}", []Option{process("shop", "production", "1")}, "target.service: must be given"},
		{"no target", "generation: 1", []Option{process("shop", "", "1")}, "target.service: must be given"},
		{"no environment", "generation: 1\ntarget: {service: shop}", []Option{process("shop", "production", "1")}, `target.env: must be given in a signed plan, since this process is in "production"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newController(t, append(tt.opts, WithExperiments(plan.DefaultLimits()))...)
			signed := Source{Name: "signed", Signed: true}
			p := mustParse(t, strings.Split(tt.lines, "\n")...)
			for what, err := range map[string]error{"CheckFrom": c.CheckFrom(signed, p), "ApplyFrom": c.ApplyFrom(signed, p)} {
				if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrAudience) || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%s of a signed plan = %v, want an ErrAudience with %q, if anything", what, err, tt.want)
				}
			}
			if tt.want == "" {
				return
			}
			if err := c.ApplyFrom(Source{Name: "unsigned"}, p); err != nil {
				t.Errorf("ApplyFrom of a source without signatures = %v, want none", err)
			}
		})
	}
}

// A plan of staging that comes to production is left alone, signed or not.
func TestSignedPlanOfStagingInProduction(t *testing.T) {
	c := newController(t, process("shop", "production", "1"), WithExperiments(plan.DefaultLimits()))
	p := mustParse(t, "generation: 1", "target: {service: shop, env: staging}")
	if err := c.ApplyFrom(Source{Name: "signed", Signed: true}, p); err != nil {
		t.Fatal(err)
	}
	if s := c.Status(); s.State != StateIdle || !strings.Contains(s.Reason, `for environment "staging"`) {
		t.Errorf("Status() = %s, %q, want idle: it is for staging", s.State, s.Reason)
	}
}

// However a plan ends, its document is not begun again from outside; the program itself may.
func TestEndedPlanIsNotReplayed(t *testing.T) {
	file := Source{Name: "file"}
	for name, end := range map[string]func(c *Controller){
		"stopped":      func(c *Controller) { c.StopPlan("by hand") },
		"withdrawn":    func(c *Controller) { c.StopPlanFrom(file, "the plan file is gone") },
		"replaced":     func(c *Controller) { _ = c.ApplyFrom(file, mustParse(t, "id: another")) },
		"after a mess": func(c *Controller) { c.Reject(file, errors.New("nonsense")) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, WithExperiments(plan.DefaultLimits()))
			p := mustParse(t)
			if err := c.ApplyFrom(file, p); err != nil {
				t.Fatal(err)
			}
			if err := c.ApplyFrom(file, p); err != nil {
				t.Errorf("ApplyFrom of the plan in force = %v, want none", err)
			}
			end(c)
			for _, from := range []Source{file, {Name: "viewer"}, {Name: "another file"}} {
				if err := c.ApplyFrom(from, p); !errors.Is(err, ErrEnded) {
					t.Errorf("ApplyFrom %s of a plan that has ended = %v, want ErrEnded", from.Name, err)
				}
			}
			if err := c.CheckFrom(file, p); !errors.Is(err, ErrEnded) {
				t.Errorf("CheckFrom = %v, want ErrEnded", err)
			}
			if err := c.ApplyFrom(file, mustParse(t, "reason: another try")); err != nil {
				t.Errorf("ApplyFrom of a changed document = %v, want none", err)
			}
			if err := c.Apply(p); err != nil {
				t.Errorf("Apply by the program itself = %v, want none", err)
			}
		})
	}
}

// As many documents are remembered as there is room for, the ones that expire last; the clock,
// which may be set forward and back again, has no say in it.
func TestEndedIsBounded(t *testing.T) {
	e, now := ended{}, time.Now()
	const documents = maxEnded + maxEnded/8
	for i := range documents {
		e.remember(fmt.Sprint(i), now.Add(time.Duration(i-documents)*time.Second)) // all have expired
	}
	_, first := e[fmt.Sprint(documents-maxEnded-1)]
	_, kept := e[fmt.Sprint(documents-maxEnded)]
	_, last := e[fmt.Sprint(documents-1)]
	if len(e) != maxEnded || first || !kept || !last {
		t.Errorf("%d documents, among them the first of too many %v, the next %v, the last %v; want %d without the first", len(e), first, kept, last, maxEnded)
	}
	e.remember(fmt.Sprint(documents-1), now)
	if len(e) != maxEnded {
		t.Errorf("%d documents after one has ended again, want %d", len(e), maxEnded)
	}
}
