package main

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/internal/runtimemode/sched"
)

// replayed asks about 95 % as well, and takes no more time than it must: there are three times as
// many workloads.
func (s settings) replayed(quick bool) settings {
	s.speedups, s.rounds, s.pairs, s.patience = []float64{0.25, 0.5, 0.75, 0.95}, 1, 2, 5*time.Second
	s.recordings, s.recording = answers.LeastWindows, 2*time.Second
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

// made returns how the program was made.
func (l *lab) made() string {
	build := "go"
	if sched.Present {
		build = "otelprof"
	}
	return fmt.Sprintf("build=%s types=%s", build, l.Types)
}

// predictReplay records the program while it runs, and returns the profile.
func (l *lab) predictReplay() (found profile.Profile, err error) {
	err = l.in(workloads.Shape{}, func(_ *workloads.Program, c *causal.Controller) (err error) {
		found, err = l.recorded(c)
		return err
	})
	return found, err
}

// recorded records the program, and returns what is known then.
func (l *lab) recorded(c *causal.Controller) (p profile.Profile, err error) {
	for i := 0; err == nil && (i < l.recordings || i < 2*l.recordings && !answers.Enough(p)); i++ {
		err = c.Record(context.Background(), l.recording)
		p = c.Profile()
	}
	return p, err
}
