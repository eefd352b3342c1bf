package whatif

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/plans"
	"github.com/otelprof/otelprof/internal/glob"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

const (
	// mostConfirmed is how many regions are asked about at once: each takes its share of the time.
	mostConfirmed = 3
	// lookInterval is how often the program is asked what it has measured, and sayInterval how
	// often that is printed.
	lookInterval = time.Second
	sayInterval  = 10 * time.Second
)

// A confirmation is what a program is asked to measure.
type confirmation struct {
	id       string // of the plan
	progress string
	metric   profile.Metric
	regions  []profile.Candidate
	viewer   plans.ViewerTarget
}

// confirmed has a program slow down the regions that seem to matter most, and returns its profile
// with what that measured. It ends the plan, also where the command is interrupted. One that has
// taken its place goes on.
func (w *whatif) confirmed(ctx context.Context, address string, p profile.Profile) (_ profile.Profile, err error) {
	c := confirmation{}
	if c.progress, c.metric, c.regions, err = p.Candidates(w.progress, len(p.Curves)); err != nil {
		return p, err
	}
	c.regions = slices.DeleteFunc(c.regions, func(r profile.Candidate) bool { return !w.asksAbout(trace.Region(r.Region)) })
	c.regions = c.regions[:min(len(c.regions), mostConfirmed)]
	if len(c.regions) == 0 {
		fmt.Fprintln(w.Stderr, "confirm: nothing was delayed: no region seems to bring anything that no slow-down has confirmed")
		return p, nil
	}
	u, err := viewerURL(address)
	if err != nil {
		return p, err
	}
	opts, err := w.target.Options()
	if err != nil {
		return p, err
	}
	if c.viewer, err = plans.NewViewer(u, opts); err != nil {
		return p, err
	}
	before, err := c.viewer.Ask(ctx)
	if err != nil {
		return p, err
	}
	if before.InForce() {
		return p, fmt.Errorf("%s: a plan is in force: stop it before another one begins, by otelprof plan stop -to %s", address, address)
	}
	document, cost, err := w.plan(&c)
	if err != nil {
		return p, err
	}
	fmt.Fprintf(w.Stderr, "confirm: callers of %s will be held for 10 and 30 %% of what that takes itself, in some windows and not in others, for %v at most. %s\n",
		c.names(), w.wait, cost)
	// Before the push: one that is interrupted, or has no answer in time, may have begun the plan.
	interrupted, ignore := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer ignore()
	defer func() { err = errors.Join(err, c.stop(ctx)) }()
	if err := c.viewer.Push(ctx, document, nil, false); err != nil {
		return p, err
	}
	return w.await(ctx, interrupted.Done(), address, c)
}

func (c *confirmation) names() string {
	var all []string
	for _, r := range c.regions {
		all = append(all, r.Region.Name)
	}
	return strings.Join(all, ", ")
}

// plan returns the document, and what it costs in words.
func (w *whatif) plan(c *confirmation) (document []byte, cost string, err error) {
	n := plans.NewPlan{Mode: string(profile.ModeSlowdown), Reason: "otelprof whatif -confirm", ID: time.Now().UTC().Format("confirm-20060102-150405")}
	if c.metric == profile.MetricThroughput {
		n.Progress = command.List{glob.Quote(c.progress)}
	} else {
		n.Latency = command.List{glob.Quote(c.progress)}
	}
	most := 0.0
	for _, r := range c.regions {
		n.Regions = append(n.Regions, glob.Quote(r.Region.Name))
		most = max(most, r.Elasticity)
	}
	if document, err = n.Document(time.Now(), w.wait+time.Minute); err != nil {
		return nil, "", err
	}
	p, err := plan.Parse(document)
	if err != nil {
		return nil, "", err
	}
	c.id = p.ID
	return document, fmt.Sprintf("Meanwhile that takes at most %.2g %% of the throughput in the mean; it ends by itself where the 99th percentile of requests becomes %g times as long.",
		100*p.Loss(p.Limits.Duty, most), p.Abort.P99Ratio), nil
}

// await waits until the regions are measured, the plan has ended, the time is over, or the command
// is interrupted.
func (w *whatif) await(ctx context.Context, interrupted <-chan struct{}, address string, c confirmation) (profile.Profile, error) {
	for began, said := time.Now(), time.Now(); ; {
		over := false
		select {
		case <-interrupted:
			over = true
		case <-time.After(lookInterval):
		}
		p, err := client.FetchProfile(w.http, address, *w.target.Timeout)
		if err != nil {
			return p, fmt.Errorf("%s: %w", address, err)
		}
		status, err := c.viewer.Ask(ctx)
		if err != nil {
			return p, err
		}
		switch {
		case status.InForce() && status.ID() != c.id:
			fmt.Fprintf(w.Stderr, "confirm: plan %s has taken the place of %s, and goes on\n", status.ID(), c.id)
			return p, nil
		case c.decided(p), over, time.Since(began) > w.wait:
			return p, nil
		case !status.InForce():
			fmt.Fprintf(w.Stderr, "confirm: the plan has ended, %s: %s\n", status.Status.State, status.Status.Reason)
			return p, nil
		case time.Since(said) >= sayInterval:
			said = time.Now()
			fmt.Fprintf(w.Stderr, "confirm: after %v, %d experiments; %s\n", said.Sub(began).Round(time.Second), p.Experiments, status.Status.Experiment)
		}
	}
}

// stop ends the plan, unless it is known that another one is in force, or none.
func (c *confirmation) stop(ctx context.Context) error {
	if status, err := c.viewer.Ask(ctx); err == nil && (!status.InForce() || status.ID() != c.id) {
		return nil
	}
	return c.viewer.Stop(ctx)
}

// decided reports whether each region has been measured as well as its question needs.
func (c *confirmation) decided(p profile.Profile) bool {
	for _, r := range c.regions {
		if !slices.ContainsFunc(p.Curves, func(x profile.Curve) bool {
			return x.Mode == profile.ModeSlowdown && x.Region == r.Region && x.Progress == c.progress && x.Metric == c.metric &&
				x.Verdict != profile.VerdictUnclear && x.Verdict != profile.VerdictWithheld
		}) {
			return false
		}
	}
	return true
}
