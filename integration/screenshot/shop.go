package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/child"
	"github.com/otelprof/otelprof/integration/internal/fetch"
)

// A shop is the demo, running.
type shop struct {
	*child.Child // at the address of its viewer

	data    string // where its files are
	started time.Time
}

// startShop builds the demo into a folder and runs it there, for some time at most.
func startShop(ctx context.Context, dir string, most time.Duration) (*shop, error) {
	file, data := filepath.Join(dir, "shop"), filepath.Join(dir, "data")
	if err := child.Build(ctx, "examples", "./shop", file); err != nil {
		return nil, err
	}
	c, err := child.Start(ctx, exec.Command(file, "-for", most.String(), "-listen", "127.0.0.1:0", "-data", data, "-plan", filepath.Join(dir, "plan.yaml")), "viewer")
	if err != nil {
		return nil, err
	}
	return &shop{Child: c, data: filepath.Join(data, "otlp"), started: time.Now()}, nil
}

// measured waits until the profile has the numbers of the plan, and the shop has run for some time.
func (s *shop) measured(ctx context.Context, after, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		missing := "everything"
		if p, err := s.profile(ctx); err == nil {
			missing = lacks(p)
		}
		if missing == "" && time.Since(s.started) >= after {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: the profile lacks %s: %w", limit, missing, context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

// lacks returns what the profile has no number of: each experiment must have answered at its
// largest speed-up, and recordings about some region; "" if they have.
func lacks(p profile.Profile) string {
	curves, answered := map[profile.Mode]int{}, map[profile.Mode]int{}
	for _, c := range p.Curves {
		if c.Metric != profile.MetricThroughput {
			continue
		}
		curves[c.Mode]++
		if n := len(c.Effects); n > 0 && c.Effects[n-1].Known() {
			answered[c.Mode]++
		}
	}
	if done, all := answered[profile.ModeSlowdown], curves[profile.ModeSlowdown]; all == 0 || done < all {
		return fmt.Sprintf("%d of %d experiments", all-done, all)
	}
	if answered[profile.ModeReplay] == 0 {
		return "recordings"
	}
	return ""
}

func (s *shop) profile(ctx context.Context) (p profile.Profile, err error) {
	err = fetch.JSON(ctx, http.DefaultClient, s.Address+"/api/v1/causal/profile", &p)
	return p, err
}
