package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/sched"
)

// leastWindows is how many windows a verdict takes.
const leastWindows = 5

// replayed asks about 95 % as well, and takes no more time than it must: there are three times as many
// workloads.
func (s settings) replayed(quick bool) settings {
	s.speedups, s.rounds, s.pairs, s.patience = []float64{0.25, 0.5, 0.75, 0.95}, 1, 2, 5*time.Second
	s.recordings, s.recording = leastWindows, 2*time.Second
	if quick {
		s.speedups, s.patience = []float64{0.5, 0.95}, 0
	}
	return s
}

// thoroughly is for corpora, which are measured once and used often.
func (s settings) thoroughly() settings {
	s.recording, s.pairs, s.patience = 3*time.Second, 4, 15*time.Second
	return s
}

// made says how the program was made.
func (l *lab) made() string {
	build := "go"
	if sched.Present {
		build = "otelprof"
	}
	return fmt.Sprintf("build=%s types=%s", build, l.types)
}

// predictReplay records the program while it runs, and returns the profile.
func (l *lab) predictReplay() (causal.Profile, error) {
	c, err := causal.New()
	if err != nil {
		return causal.Profile{}, err
	}
	p := start(l.workload, c.Hook())
	time.Sleep(warmUp)
	for range l.recordings {
		if err = c.Record(context.Background(), l.recording); err != nil {
			break
		}
	}
	profile := c.Profile()
	return profile, errors.Join(err, p.end(), c.Close())
}
