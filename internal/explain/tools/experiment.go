package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/explain"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/http/mcp"
)

// A checked is the answer to a plan that is asked about.
type checked struct {
	Lines   []explain.Line `json:"lines"`
	Cost    string         `json:"cost"`
	Refused string         `json:"refused"`
	Error   string         `json:"error"` // with all problems
}

func (a API) check(ctx context.Context, document []byte) (checked, error) {
	status, text, err := a(ctx, http.MethodPost, "causal/plan/check", document)
	if err != nil {
		return checked{}, err
	}
	var c checked
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("plan: answer %d: must be a viewer's: %w", status, err)
	}
	if status != http.StatusOK {
		return c, fmt.Errorf("plan: %s", c.Error)
	}
	return c, nil
}

// PlanCheck returns what a plan would do.
func PlanCheck(ctx context.Context, api API, document string) (string, error) {
	c, err := api.check(ctx, []byte(document))
	if err != nil {
		return "", err
	}
	var out page
	if c.Refused != "" {
		out.line("it would not be started here: %s", c.Refused)
	}
	out.line("cost at most: %s", c.Cost)
	var lines strings.Builder
	for _, line := range c.Lines {
		fmt.Fprintf(&lines, "%-12s  %s\n", line.Title, line.Text)
	}
	out.lines("the plan", lines.String())
	return out.String(), nil
}

type experimentArguments struct {
	Regions  []string
	Progress string
	Minutes  float64
	Duty     float64 `json:"duty_percent"`
	Reason   string
	Stop     bool
}

const (
	usualMinutes = 5
	mostMinutes  = 30
	mostRegions  = 3
)

// experiment starts a plan of slow-downs, or ends what is in force.
func experiment(ctx context.Context, api API, a experimentArguments) (string, error) {
	var now standing
	if err := api.get(ctx, "causal/plan", &now); err != nil {
		return "", err
	}
	if a.Stop {
		if err := api.do(ctx, http.MethodDelete, "causal/plan", nil, &now); err != nil {
			return "", err
		}
		return fmt.Sprintf("no experiment is in force; state %s, delayed %s in all. Ask rank for what was measured.", now.Status.State, duration(now.Status.Spent)), nil
	}
	if !now.Status.Enabled {
		return "", fmt.Errorf("experiment: the program must opt in, by OTELPROF_EXPERIMENTS=on or otelprof.WithExperiments; rank and whatif answer from recordings without")
	}
	if now.inForce() && now.Plan != nil {
		return "", fmt.Errorf("experiment: plan %s is in force: wait until it ends, or end it by stop", now.Plan.ID)
	}
	document, names, err := a.plan(ctx, api, now.Status.Caps)
	if err != nil {
		return "", err
	}
	c, err := api.check(ctx, document)
	if err == nil && c.Refused != "" {
		err = fmt.Errorf("experiment: refused by the program: %s", c.Refused)
	}
	if err != nil {
		return "", err
	}
	if err := api.do(ctx, http.MethodPut, "causal/plan", document, &now); err != nil {
		return "", err
	}
	var out page
	out.line("state %s: callers of %s are held for 10 and 30 %% of what that takes itself, in some windows and not in others", now.Status.State, strings.Join(names, ", "))
	out.line("cost at most: %s", c.Cost)
	out.line("It ends by itself after %.3g minutes at most. Ask whatif or rank in 10 s to a minute; stop ends it before.", cmp.Or(a.Minutes, usualMinutes))
	return out.String(), nil
}

// plan makes the document, within the program's caps.
func (a experimentArguments) plan(ctx context.Context, api API, caps plan.Limits) (document []byte, names []string, err error) {
	minutes := cmp.Or(a.Minutes, usualMinutes)
	switch {
	case minutes < 0.5 || minutes > mostMinutes:
		return nil, nil, fmt.Errorf("minutes %g: must be in [0.5, %d]", minutes, mostMinutes)
	case len(a.Regions) > mostRegions:
		return nil, nil, fmt.Errorf("regions: %d: must be at most %d", len(a.Regions), mostRegions)
	case a.Duty < 0 || a.Duty/100 > float64(caps.Duty):
		return nil, nil, fmt.Errorf("duty_percent %g: must be in (0, %g]: the program's cap limits.duty is %v", a.Duty, 100*float64(caps.Duty), caps.Duty)
	}
	p, err := api.profileOf(ctx)
	if err != nil {
		return nil, nil, err
	}
	point, metric, best, err := p.Candidates(a.Progress, mostRegions)
	if err != nil {
		return nil, nil, err
	}
	names = a.Regions
	if len(names) == 0 {
		for _, c := range best {
			names = append(names, c.Region.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("regions: must be named: no region seems to bring anything that no experiment has confirmed")
	}
	var regions []map[string]string
	for _, name := range names {
		regions = append(regions, map[string]string{"span": glob.Quote(name)})
	}
	limits := plan.DefaultLimits().Tighten(caps)
	if a.Duty > 0 {
		limits.Duty = plan.Percent(a.Duty / 100)
	}
	kind := plan.TypeThroughput
	if metric != profile.MetricThroughput {
		kind = plan.TypeLatency
	}
	now := time.Now().UTC()
	document, err = json.Marshal(map[string]any{
		"api": plan.API, "id": now.Format("agent-20060102-150405"), "generation": now.Unix(),
		"author": "agent " + cmp.Or(mcp.Client(ctx), "of no name"), "reason": cmp.Or(a.Reason, "asked for by an agent"),
		"issued_at": now.Format(time.RFC3339), "expires_at": now.Add(time.Duration(minutes * float64(time.Minute))).Format(time.RFC3339),
		"mode": profile.ModeSlowdown, "regions": regions, "limits": limits,
		"progress": []map[string]string{{"span": glob.Quote(point), "type": kind}},
	})
	return document, names, err
}
