package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A variant is a program as it is started otherwise, and what is asked about that beforehand.
type variant struct {
	name     string
	args     []string
	question replay.Question
}

// mostOffVariant is how near joined recordings claim to be about a variant, in points.
const mostOffVariant = 5

// tryVariants records the program as it is, asks what its variants would bring, and runs both in
// turns. All are asked of the same recordings, of which there are as many for each.
func (l lab) tryVariants(ctx context.Context, p program, b build, binary string) error {
	var errs []error
	var foretold profile.Profile
	for i, v := range p.variants {
		var before, after []float64
		for round := range l.pairs {
			usual, err := l.runFor(ctx, p, binary, func(s *process) (err error) {
				if i == 0 && round == 0 {
					foretold, err = s.askAbout(ctx, l.settings, p.variants)
				}
				return err
			})
			if err != nil {
				return err
			}
			other := p
			other.args = func(ports []string) []string { return append(p.args(ports), v.args...) }
			otherwise, err := l.runFor(ctx, other, binary, func(*process) error { return nil })
			if err != nil {
				return err
			}
			before, after = append(before, usual), append(after, otherwise)
		}
		var shorter []float64
		for i := range before {
			shorter = append(shorter, 100*(1-after[i]/before[i]))
		}
		actual, least, most := median(shorter)
		predicted := answers.Change(foretold, v.question.String(), p.progress, profile.MetricThroughput)
		head := fmt.Sprintf("accuracy %s mode=%s build=%s processes=%d question=%q ", p.name, profile.ModeReplay, b, p.processes(), v.name)
		if !predicted.Known() {
			fmt.Fprintf(l.out, "%swithheld=%q actual=%.2f\n", head, predicted.Withheld.String(), actual)
			errs = append(errs, fmt.Errorf("%w: %s: withheld: %s", errClaim, v.name, predicted.Withheld))
			continue
		}
		e := 100*predicted.Reduction - actual
		fmt.Fprintf(l.out, "%spredicted=%.2f lo=%.2f hi=%.2f actual=%.2f error=%+.2f\n#   actual from %.2f to %.2f\n", head, 100*predicted.Reduction, 100*predicted.Lo, 100*predicted.Hi, actual, e, least, most)
		if math.Abs(e) > mostOffVariant {
			errs = append(errs, fmt.Errorf("%w: %s is %.2f points off, must be %d at most", errClaim, v.name, e, mostOffVariant))
		}
	}
	return errors.Join(errs...)
}

// runFor starts a program, has do do something with it, and returns the time between answers.
func (l lab) runFor(ctx context.Context, p program, binary string, do func(*process) error) (period float64, err error) {
	s, err := start(ctx, p, binary, "off")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := sleep(ctx, l.warm); err != nil {
		return 0, err
	}
	if err := do(s); err != nil {
		return 0, err
	}
	return s.period(ctx, l.settings)
}

// askAbout asks about all variants of joined recordings.
func (s *process) askAbout(ctx context.Context, o settings, all []variant) (profile.Profile, error) {
	c := replay.StudyConfig{Only: func(trace.Region) bool { return false }}
	for _, v := range all {
		c.Questions = append(c.Questions, v.question)
	}
	o.windows *= len(all)
	p, _, err := s.studyTogether(ctx, o, c)
	return p, err
}
