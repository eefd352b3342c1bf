package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/sched"
)

// modeReplay is to record, and to simulate what was recorded.
const modeReplay causal.Mode = "replay"

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

// A recorder is a controller that replays.
type recorder interface {
	Record(ctx context.Context, d time.Duration) error
}

// predictReplay records the program while it runs, and returns the profile.
func (l *lab) predictReplay() (causal.Profile, error) {
	c, err := causal.New(causal.WithVirtual(false))
	if err != nil {
		return causal.Profile{}, err
	}
	p := start(l.workload, c.Hook())
	time.Sleep(warmUp)
	err = l.recordAll(c)
	profile := c.Profile()
	return profile, errors.Join(err, p.end(), c.Close())
}

func (l *lab) recordAll(c any) error {
	r, ok := c.(recorder)
	if !ok {
		return errors.New("-mode replay: this package causal has none")
	}
	for range l.recordings {
		if err := r.Record(context.Background(), l.recording); err != nil {
			return err
		}
	}
	return nil
}
