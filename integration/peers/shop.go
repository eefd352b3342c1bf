package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/otelprof/otelprof/integration/internal/child"
	"github.com/otelprof/otelprof/integration/internal/fetch"
)

// runShop writes what the shop of the demo sells while it is recorded, beside what it sells right
// before and after. It records of its own accord, 3 s at a time: the first times one after the
// other, for the reader of its profile.
func runShop(w io.Writer, match *regexp.Regexp, dir, program string, rounds int) error {
	const name = "replay_recording_shop"
	if !match.MatchString(name) {
		return nil
	}
	if program == "" {
		_, err := fmt.Fprintf(w, "# %s is not measured: -shop must name the program\n", name)
		return err
	}
	x, err := sell(filepath.Join(dir, "sold"), program, min(rounds, hurried))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return writeRatios(w, name, x, 0.97, "wall")
}

// A stretch is a time in which a program was recorded, its recording was analysed, or neither.
type stretch struct {
	phase  string
	took   time.Duration
	orders uint64
}

func (s stretch) rate() float64 { return float64(s.orders) / s.took.Seconds() }

const (
	// shortest is how long a stretch takes that shows how fast the shop is.
	shortest = time.Second
	// longest is how long the shop may take to open, and to record itself so often.
	longest = 4 * time.Minute
	// hurried is how many recordings come soon if the profile is read, and reading how often that
	// is done.
	hurried = 5
	reading = 2 * time.Second
)

// sell runs the shop until it has been recorded so often, without a plan.
func sell(data, program string, recordings int) (x []ratio, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	shop, err := child.Start(ctx, exec.Command(program, "-plan", "off", "-listen", "127.0.0.1:0", "-data", data), "viewer")
	if err != nil {
		return nil, err
	}
	defer func() { _ = shop.Stop() }() // all is measured
	all, err := watchShop(ctx, shop.Address, recordings)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		if before, after, ok := around(all, i); s.phase == "recording" && ok {
			usual := (before.rate() + after.rate()) / 2
			x = append(x, ratio{wall: s.rate() / usual, perSecond: usual})
		}
	}
	if len(x) == 0 {
		return nil, fmt.Errorf("%d stretches: none is a recording between two others", len(all))
	}
	return x, nil
}

// watchShop returns stretches until the shop has been recorded so often, and has sold for a while
// since.
func watchShop(ctx context.Context, viewer string, recordings int) (all []stretch, err error) {
	var phase string
	var began, read time.Time
	var sold uint64
	for tick := time.Tick(10 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d stretches: %w", len(all), context.Cause(ctx))
		case <-tick:
		}
		if time.Since(read) > reading {
			read = time.Now()
			if err := fetch.JSON(ctx, http.DefaultClient, viewer+"/api/v1/causal/profile", &struct{}{}); err != nil {
				return nil, err
			}
		}
		now, err := phaseOf(ctx, viewer)
		if err != nil {
			return nil, err
		}
		over := recordings == 0 && time.Since(began) > 2*shortest
		if now == phase && !over {
			continue
		}
		at := time.Now()
		orders, err := ordersOf(ctx, viewer)
		if err != nil {
			return nil, err
		}
		if phase != "" {
			all = append(all, stretch{phase, at.Sub(began), orders - sold})
			if phase == "recording" {
				recordings--
			}
		}
		if over && now == "waiting" {
			return all, nil
		}
		phase, began, sold = now, at, orders
		recordings = max(0, recordings)
	}
}

// around returns the stretches nearest to one in which nothing was recorded or analysed.
func around(all []stretch, i int) (before, after stretch, ok bool) {
	usual := func(s stretch) bool { return s.phase == "waiting" && s.took >= shortest }
	for _, s := range all[:i] {
		if usual(s) {
			before = s
		}
	}
	for _, s := range all[i+1:] {
		if usual(s) {
			return before, s, before.took > 0
		}
	}
	return before, after, false
}

func phaseOf(ctx context.Context, viewer string) (string, error) {
	var plan struct {
		Status struct {
			Recording struct {
				Phase string `json:"phase"`
			} `json:"recording"`
		} `json:"status"`
	}
	err := fetch.JSON(ctx, http.DefaultClient, viewer+"/api/v1/causal/plan", &plan)
	return plan.Status.Recording.Phase, err
}

func ordersOf(ctx context.Context, viewer string) (uint64, error) {
	var all struct {
		Regions []struct {
			Name  string `json:"name"`
			Count uint64 `json:"count"`
		} `json:"regions"`
	}
	if err := fetch.JSON(ctx, http.DefaultClient, viewer+"/api/v1/regions", &all); err != nil {
		return 0, err
	}
	for _, r := range all.Regions {
		if r.Name == "POST /orders" {
			return r.Count, nil
		}
	}
	return 0, nil
}
