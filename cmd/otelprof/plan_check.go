package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/explain"
)

var planCheckCommand = &command{
	name:  "check",
	args:  "FILE",
	short: "Explain what a plan will do, or what is wrong with it",
	long: `
A FILE - is standard input. The exit status is 1 if the plan is not valid; what is doubtful are
warnings. What it costs at most depends on the caps of the programs, too: tell them by -cap-….
`,
	run: func(c *call) error {
		caps := causal.DefaultLimits()
		c.TextVar(&caps.PerSpan, "cap-per-span", caps.PerSpan, "`cap` of the programs on the delay at the end of one span")
		c.TextVar(&caps.PerTrace, "cap-per-trace", caps.PerTrace, "`cap` on the delay in one session")
		c.TextVar(&caps.Duty, "cap-duty", caps.Duty, "`cap` on the delay per second and processor")
		c.TextVar(&caps.Total, "cap-total", caps.Total, "`cap` on the delay altogether")
		asJSON := c.Bool("json", false, "print JSON")
		if err := c.parse(1, 1); err != nil {
			return err
		}
		if err := checkCaps(caps); err != nil {
			return err
		}
		document, err := c.readPlan(c.Arg(0))
		if err != nil {
			return err
		}
		plan, err := causal.ParsePlan(document)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Arg(0), err)
		}
		e := explain.Plan(plan, caps, time.Now())
		if !*asJSON {
			return e.Write(c.stdout)
		}
		j := json.NewEncoder(c.stdout)
		j.SetEscapeHTML(false)
		j.SetIndent("", "  ")
		return j.Encode(e)
	},
}

// checkCaps lets a controller judge: its ranges are the ones that count.
func checkCaps(caps causal.Limits) error {
	controller, err := causal.New(causal.WithExperiments(caps))
	if err != nil {
		return usagef("caps: %v", err)
	}
	return controller.Close()
}

func said(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
