package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/noise"
)

// realize makes the regions faster, one after the other, and measures by how much the period
// shrinks. The windows without take turns with those with.
func (l *lab) realize(t *noise.Tally) error {
	c, err := causal.NewController() // a hook that does nothing, so that spans cost the same
	if err != nil {
		return err
	}
	p := workloads.Start(l.Workload, c.Hook())
	l.makeFaster(t, p)
	if err := p.End(); err != nil {
		return err
	}
	return c.Shutdown(context.Background())
}

// makeFaster does what realize describes in a program that runs.
func (l *lab) makeFaster(t *noise.Tally, p *workloads.Program) {
	questions := []question{{}}
	for _, region := range l.Regions {
		for _, s := range l.speedups {
			questions = append(questions, question{region, s})
		}
	}
	before := l.look(p, question{})
	for round := range mostRounds * l.pairs {
		if round >= l.pairs {
			if questions = slices.DeleteFunc(questions, l.known); len(questions) == 0 {
				return
			}
		}
		if l.Varies {
			l.seed++
			before = l.look(p, question{})
		}
		for _, i := range l.rng.Perm(len(questions)) {
			before = l.pair(t, p, questions[i], before)
		}
	}
}

const (
	// wide is by how much, in percentage points, a truth may be uncertain. Beyond, it is measured
	// again, whatever was predicted.
	wide = 4
	// mostRounds is how many times as many pairs there are at most where truths are wide.
	mostRounds = 3
)

// known reports whether the pairs so far show what is true about a question.
func (l *lab) known(q question) bool {
	shown := l.actual[q]
	if q.region == "" {
		shown = l.null
	}
	s := spanOf(calm(shown))
	return s.Hi-s.Lo <= wide
}

const (
	// tries is how often a window is measured, at most.
	tries = 4
	// drift is by how much the windows before and after may differ.
	drift = 0.03
	// driftVaries is that for programs whose pieces of work have random lengths.
	driftVaries = 0.08
)

// A window is what was seen in one.
type window struct {
	period    float64 // ns
	latencies []time.Duration
}

// requests are latencies of two windows that differ in one region, for times of arrival that do not
// differ.
type requests struct{ before, faster []time.Duration }

// pair measures one window and the baseline after it, again if something disturbs them, and
// returns that baseline.
func (l *lab) pair(t *noise.Tally, p *workloads.Program, q question, before window) window {
	t.Taken++
	most := drift
	if l.Varies { // although each window has the same random numbers
		most = driftVaries
	}
	for try := 1; ; try++ {
		beside := noise.Listen()
		faster := l.look(p, q)
		after := l.look(p, question{})
		foreign, loudness := beside.Foreign()
		disturbance := max(loudness, math.Abs(math.Log(after.period/before.period))/most)
		if disturbance > 1 && try < tries && t.Retry(beside.Began) {
			before = after
			continue
		}
		if disturbance > 1 {
			t.Keep(foreign)
		}
		l.note(q, disturbance, before, faster, after)
		return after
	}
}

// A reading is what a pair has shown.
type reading struct {
	reduction   float64 // of the period, in percent
	disturbance float64 // above 1 of a pair that would be measured again, were there time
}

// fewest is how many pairs at least a truth is of.
const fewest = 3

// calm returns the reductions of the pairs that nothing disturbed. Where they are too few, it is
// the least disturbed ones.
func calm(all []reading) (reductions []float64) {
	for i, r := range slices.SortedFunc(slices.Values(all), func(a, b reading) int { return cmp.Compare(a.disturbance, b.disturbance) }) {
		if r.disturbance <= 1 || i < fewest {
			reductions = append(reductions, r.reduction)
		}
	}
	return reductions
}

// note keeps what a pair has shown.
func (l *lab) note(q question, disturbance float64, before, faster, after window) {
	shown := reading{100 * (1 - faster.period/math.Sqrt(before.period*after.period)), disturbance}
	if q.region == "" {
		l.null = append(l.null, shown)
	} else {
		l.actual[q] = append(l.actual[q], shown)
	}
	if l.Request != "" {
		l.requests[q] = append(l.requests[q], requests{slices.Concat(before.latencies, after.latencies), faster.latencies})
	}
}

// look measures one window, with one region faster, or none.
func (l *lab) look(p *workloads.Program, q question) window {
	if f := p.Left[q.region]; f != nil {
		f.Set(1 - q.speedup)
		defer f.Set(1)
	}
	p.Rewind(l.seed)
	time.Sleep(l.settle)
	p.Latencies.Take()
	period := p.Visits.Period(l.window)
	return window{period, p.Latencies.Take()}
}
