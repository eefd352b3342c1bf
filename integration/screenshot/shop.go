package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
)

// stopTime is how long the shop may take to end in good order.
const stopTime = 30 * time.Second

// A shop is the demo, running.
type shop struct {
	url     string // of the viewer
	started time.Time
	end     context.CancelFunc
	done    chan error // has one value when the process has ended
}

// startShop builds the demo into a folder and runs it there, for some time at most.
func startShop(ctx context.Context, dir string, most time.Duration) (*shop, error) {
	program := filepath.Join(dir, "shop")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./shop")
	build.Dir = "examples"
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build ./shop in %s: %w\n%s", build.Dir, err, text)
	}
	ctx, end := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "-for", most.String(), "-listen", "127.0.0.1:0",
		"-data", filepath.Join(dir, "data"), "-plan", filepath.Join(dir, "plan.yaml"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("shop: %w", err)
	}
	s := &shop{started: time.Now(), end: end, done: make(chan error, 1)}
	lines := bufio.NewScanner(out)
	for s.url == "" && lines.Scan() {
		s.url = viewerIn(lines.Text())
	}
	go func() {
		for lines.Scan() { // so that it never waits for a reader
		}
		s.done <- cmd.Wait()
	}()
	if s.url == "" {
		return nil, errors.Join(errors.New("shop: it says no address of its viewer"), s.stop())
	}
	return s, nil
}

// viewerIn returns the address in a line such as "viewer  http://127.0.0.1:8080/", or "".
func viewerIn(line string) string {
	if rest, ok := strings.CutPrefix(line, "viewer "); ok && strings.Contains(rest, "://") {
		return strings.TrimSpace(rest)
	}
	return ""
}

// stop ends the shop and waits for it. That it was interrupted is as it should be.
func (s *shop) stop() error {
	s.end()
	if err := <-s.done; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("shop: %w", err)
	}
	return nil
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

// lacks says what the profile has no number of: each experiment must have answered at its
// largest speed-up, and virtual time about some region; "" if they have.
func lacks(p causal.Profile) string {
	curves, answered := map[causal.Mode]int{}, map[causal.Mode]int{}
	for _, c := range p.Curves {
		if c.Metric != causal.MetricThroughput {
			continue
		}
		curves[c.Mode]++
		if n := len(c.Effects); n > 0 && c.Effects[n-1].Withheld == "" {
			answered[c.Mode]++
		}
	}
	if done, all := answered[causal.ModeOverlap], curves[causal.ModeOverlap]; all == 0 || done < all {
		return fmt.Sprintf("%d of %d experiments", all-done, all)
	}
	if answered[causal.ModeVirtual] == 0 {
		return "virtual time"
	}
	return ""
}

func (s *shop) profile(ctx context.Context) (p causal.Profile, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.url, "/")+"/api/v1/causal/profile", http.NoBody)
	if err != nil {
		return p, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer response.Body.Close()
	return p, json.NewDecoder(response.Body).Decode(&p)
}
