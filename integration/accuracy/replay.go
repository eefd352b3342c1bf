package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
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

// slows reports whether regions are slower, in place of faster.
func (s settings) slows() bool { return len(s.speedups) > 0 && s.speedups[0] < 0 }

// made returns how the program was made, and what is asked about it.
func (l *lab) made() string {
	build := "go"
	if sched.Present {
		build = "otelprof"
	}
	made := fmt.Sprintf("build=%s types=%s", build, l.Types)
	if l.slows() {
		made += " change=slower"
	}
	return made
}

// predictReplay records the program while it runs, and returns the profile.
func (l *lab) predictReplay() (found profile.Profile, err error) {
	if l.slows() {
		return l.study(workloads.Shape{}, l.slower())
	}
	err = l.in(workloads.Shape{}, func(_ *workloads.Program, c *causal.Controller) (err error) {
		found, err = l.recorded(c)
		return err
	})
	return found, err
}

// slower returns the questions about regions that are slower, and about the control.
func (l *lab) slower() (questions []replay.Question) {
	regions := l.Regions
	if l.Control != "" {
		regions = append(slices.Clip(regions), l.Control)
	}
	for _, region := range regions {
		for _, s := range l.speedups {
			questions = append(questions, question{region, s}.asked())
		}
	}
	return questions
}

// asked is the question as otelprof whatif asks it.
func (q question) asked() replay.Question {
	return replay.Question{Faster: []replay.Speedup{{Region: trace.Region{Scope: workloads.Scope, Name: q.region}, By: q.speedup}}}
}

// recorded records the program, and returns what is known then.
func (l *lab) recorded(c *causal.Controller) (p profile.Profile, err error) {
	for i := 0; err == nil && (i < l.recordings || i < 2*l.recordings && !answers.Enough(p)); i++ {
		err = c.Record(context.Background(), l.recording)
		p = c.Profile()
	}
	return p, err
}
