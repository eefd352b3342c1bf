package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/integration/internal/noise"
)

// settings say how much is measured.
type settings struct {
	speedups []float64
	windows  int           // that replay records
	record   time.Duration // each of them
	pairs    int           // windows in which a region is faster, for each question
	window   time.Duration // one measurement
	settle   time.Duration // between changing something and measuring
	warm     time.Duration // before the first
	patience time.Duration // for measuring again, in all, what other processes disturbed
}

func thorough() settings {
	return settings{
		speedups: []float64{0.25, 0.5, 0.75}, windows: 6, record: 3 * time.Second,
		pairs: 4, window: 3 * time.Second, settle: time.Second / 2, warm: 3 * time.Second, patience: 3 * time.Minute,
	}
}

func quick() settings {
	s := thorough()
	s.speedups, s.pairs, s.window, s.patience = []float64{0.5}, 2, 2*time.Second, time.Minute
	return s
}

// A question is about a region and a speed-up.
type question struct {
	region  region
	speedup float64 // 0 for the control: two windows that are alike
}

// predict has replay record all windows, and further ones while those do not give numbers, up to
// twice as many. It returns the profile, also as it was sent. A window that was disturbed is in the
// profile all the same, as it is for any user of replay; the tally shows.
func (s *process) predict(ctx context.Context, o settings) (p profile.Profile, text []byte, t *noise.Tally, err error) {
	if s.processes() > 1 {
		return s.predictTogether(ctx, o)
	}
	t = &noise.Tally{}
	for i := 0; i < o.windows || i < 2*o.windows && !answers.Enough(p); i++ {
		if err := s.undisturbed(t, func() error { return s.record(ctx, o.record) }); err != nil {
			return profile.Profile{}, nil, nil, err
		}
		if p, text, err = s.profile(ctx); err != nil {
			return profile.Profile{}, nil, nil, err
		}
	}
	return p, text, t, nil
}

// realize makes each region faster for real. It returns by how many percent the time between
// answers shrank, each time against the mean of the windows before and after. Questions follow each
// other in random order.
func (s *process) realize(ctx context.Context, o settings) (map[question][]float64, *noise.Tally, error) {
	questions := []question{{s.regions[0], 0}}
	for _, r := range s.regions {
		for _, speedup := range o.speedups {
			questions = append(questions, question{r, speedup})
		}
	}
	found, t := map[question][]float64{}, &noise.Tally{Patience: o.patience}
	rng := rand.New(rand.NewPCG(1, 1))
	after, err := s.period(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	for range o.pairs {
		rng.Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
		for _, q := range questions {
			var before, faster float64
			err := s.undisturbed(t, func() (err error) {
				before = after
				if faster, err = s.faster(ctx, q, o); err != nil {
					return err
				}
				after, err = s.period(ctx, o)
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			found[q] = append(found[q], 100*(1-faster/((before+after)/2)))
		}
	}
	return found, t, nil
}

// faster returns the period while a region is faster.
func (s *process) faster(ctx context.Context, q question, o settings) (period float64, err error) {
	if err := s.speed(ctx, q.region, q.speedup); err != nil {
		return 0, err
	}
	period, err = s.period(ctx, o)
	return period, errors.Join(err, s.speed(ctx, q.region, 0))
}

// period returns the mean time between answers in a window, in seconds. The window is from one
// answer to another.
func (s *process) period(ctx context.Context, o settings) (float64, error) {
	if err := sleep(ctx, o.settle); err != nil {
		return 0, err
	}
	from, err := s.crowd.answered()
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, o.window); err != nil {
		return 0, err
	}
	to, err := s.crowd.answered()
	if err != nil {
		return 0, err
	}
	if to.Lost != "" {
		return 0, fmt.Errorf("%s: no answer: %s", s.name, to.Lost)
	}
	if to.Count == from.Count {
		return 0, fmt.Errorf("%s: no answer in %v", s.name, o.window)
	}
	return (to.Last - from.Last).Seconds() / float64(to.Count-from.Count), nil
}

// sleep waits, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
