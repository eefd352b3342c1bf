package plans

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/explain"
)

var planCheckCommand = &command.Command{
	Name:  "check",
	Args:  "FILE",
	Short: "Explain what a plan will do, or what is wrong with it",
	Long: `
A FILE - is standard input. The exit status is 1 if the plan is not valid; doubts are warnings.
What it costs at most depends on the caps of the programs, too: -cap-… sets these.
`,
	Run: func(c *command.Call) error {
		all := explain.DefaultCaps()
		caps, breaker := &all.Limits, &all.Breaker
		var modes []profile.Mode
		c.TextVar(&caps.PerSpan, "cap-per-span", caps.PerSpan, "`cap` of the programs on the delay at the end of one span")
		c.TextVar(&caps.PerTrace, "cap-per-trace", caps.PerTrace, "`cap` on the delay in one request")
		c.TextVar(&caps.Duty, "cap-duty", caps.Duty, "`cap` on the delay in each 100 ms, as a part of the processors' time")
		c.TextVar(&caps.Total, "cap-total", caps.Total, "`cap` on the delay altogether")
		c.Float64Var(&breaker.P99Ratio, "cap-p99-ratio", breaker.P99Ratio, "`cap` on abort.p99_ratio")
		c.TextVar(&breaker.P99, "cap-p99", breaker.P99, "`cap` on abort.p99, 0s for none")
		c.TextVar(&breaker.ErrDelta, "cap-err-delta", breaker.ErrDelta, "`cap` on abort.err_delta")
		c.TextVar(&breaker.Window, "cap-window", breaker.Window, "`cap` on abort.window")
		c.IntVar(&breaker.MinSamples, "cap-min-samples", breaker.MinSamples, "`cap` on abort.min_samples")
		c.Float64Var(&all.Allowed.Speedup, "cap-speedup", all.Allowed.Speedup, "`cap` on grid.speedups, in percent")
		c.TextVar(&all.Allowed.Life, "cap-life", all.Allowed.Life, "`cap` on how long it is in force")
		c.Func("cap-mode", "`mode` that the programs allow; may be repeated, by default all", func(mode string) error {
			modes = append(modes, profile.Mode(mode))
			return nil
		})
		asJSON := c.Bool("json", false, "print JSON")
		if err := c.ParseArgs(1, 1); err != nil {
			return err
		}
		if modes != nil {
			all.Allowed.Modes = modes
		}
		if err := checkCaps(all); err != nil {
			return err
		}
		document, err := readPlan(c, c.Arg(0))
		if err != nil {
			return err
		}
		plan, err := plan.Parse(document)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Arg(0), err)
		}
		e := explain.Plan(plan, all, time.Now())
		if *asJSON {
			return c.WriteJSON(e)
		}
		return e.Write(c.Stdout)
	},
}

// checkCaps lets a controller judge: its ranges are the ones that count.
func checkCaps(caps explain.Caps) error {
	controller, err := causal.NewController(causal.WithExperiments(caps.Limits), causal.WithBreaker(caps.Breaker), causal.WithAllowed(caps.Allowed))
	if err != nil {
		return command.Usagef("caps: %v", err)
	}
	return controller.Shutdown(context.Background())
}

func said(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }
