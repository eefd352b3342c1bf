package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/integration/internal/answers"
	"github.com/otelprof/otelprof/integration/internal/noise"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// settings say how much is measured.
type settings struct {
	modes    []profile.Mode
	speedups []float64
	rounds   int           // of predictions and of what is held against them
	overlap  int           // iterations of overlap in a block
	pairs    int           // windows of each faster region in a block
	window   time.Duration // one measurement
	settle   time.Duration // between changing something and measuring
	patience time.Duration // for predicting again, and for measuring windows again
	// recordings of that length are what replay takes.
	recordings int
	recording  time.Duration
	// builds is how often a program that is built in another way runs for as long as built.
	builds int
	built  time.Duration
	// structure means that only other builds are asked about.
	structure bool
}

func thorough() settings {
	return settings{
		modes: []profile.Mode{profile.ModeSlowdown, profile.ModeOverlap, profile.ModeDilation, profile.ModeReplay}, speedups: []float64{0.1, 0.25, 0.5, 0.75},
		rounds: 2, overlap: 4, pairs: 2, window: 200 * ms, settle: 100 * ms, patience: 10 * time.Second,
		recordings: answers.LeastWindows, recording: 2 * time.Second, builds: 4, built: time.Second,
	}
}

func quick() settings {
	s := thorough()
	s.speedups = []float64{0.25, 0.5}
	s.rounds, s.overlap, s.pairs, s.patience = 1, 6, 3, 0
	return s
}

// A lab measures one workload in this process.
type lab struct {
	workloads.Workload
	settings
	rng    *rand.Rand
	result result
	actual map[question][]reading
	// requests are those of the windows behind actual, where there are any.
	requests map[question][]requests
	null     []reading // of two arms that are alike
	seed     uint64    // of the random numbers in a window
	// told is after how long a plan's regions were distinguished from regions that bring nothing.
	told map[string]time.Duration
}

// A question is about a region and a speed-up, below 0 for slower.
type question struct {
	region  string
	speedup float64
}

// A result is what a process hands back.
type result struct {
	Cells    []cell
	Rebuilt  []cell // answers about other builds
	Comments []string
	Controls []control
}

func newLab(w workloads.Workload, s settings) *lab {
	if w.Computes {
		s.window, s.settle = s.window*2/5, s.settle/5
		s.overlap, s.pairs = 2*s.overlap, 5*s.pairs/2
	}
	if w.Long {
		s.window *= 5
	}
	if w.Varies {
		s.window *= 2
	}
	if w.Request != "" { // of which a window must have some hundreds
		s.window *= 2
		s.pairs++
	}
	return &lab{Workload: w, settings: s, rng: rand.New(rand.NewPCG(1, 1)), actual: map[question][]reading{}, requests: map[question][]requests{}, told: map[string]time.Duration{}}
}

// unclaimed reports whether modes do not claim to be right about the program.
func (l *lab) unclaimed(modes ...profile.Mode) bool {
	return l.Withholds && !slices.ContainsFunc(modes, func(m profile.Mode) bool { return m != profile.ModeOverlap })
}

// measure runs all rounds.
func (l *lab) measure() (result, error) {
	workloads.Calibrate()
	profiles := map[profile.Mode][]profile.Profile{}
	blocks := map[string]*noise.Tally{"predictions": {Patience: l.patience}, "windows": {Patience: l.patience}}
	if l.unclaimed(l.modes...) {
		l.rounds = 1 // one answer is enough to see that there is none
	}
	if l.structure {
		l.rounds = 0 // of questions about regions
	}
	for range l.rounds {
		for _, mode := range l.modes {
			var p profile.Profile
			if err := blocks["predictions"].Measure(2, func() (err error) { p, err = l.predict(mode); return err }); err != nil {
				return result{}, fmt.Errorf("%s: %s: %w", l.Name, mode, err)
			}
			profiles[mode] = append(profiles[mode], p)
		}
		if err := l.realize(blocks["windows"]); err != nil {
			return result{}, fmt.Errorf("%s: %w", l.Name, err)
		}
	}
	for _, mode := range slices.Sorted(maps.Keys(profiles)) {
		l.judge(mode, profile.Merge(profiles[mode]...))
	}
	if slowed := profiles[profile.ModeSlowdown]; len(slowed) > 0 {
		l.combine(profile.Merge(slowed...))
	}
	if len(profiles) > 0 {
		l.aa()
	}
	if slices.Contains(l.modes, profile.ModeReplay) && !l.slows() {
		if err := l.rebuild(blocks["windows"]); err != nil {
			return result{}, fmt.Errorf("%s: built in another way: %w", l.Name, err)
		}
	}
	for _, what := range []string{"predictions", "windows"} {
		l.comment("%s: %s", what, blocks[what])
	}
	return l.result, nil
}

// predict runs the program under a mode, and returns the profile.
func (l *lab) predict(mode profile.Mode) (profile.Profile, error) {
	if mode == profile.ModeReplay {
		return l.predictReplay()
	}
	c, err := causal.NewController(causal.WithExperiments(caps), causal.WithBreaker(plan.Abort{P99Ratio: 1000, ErrDelta: 1, Window: plan.Duration(time.Minute), MinSamples: 1000}))
	if err != nil {
		return profile.Profile{}, err
	}
	p := workloads.Start(l.Workload, c.Hook())
	by := l
	if mode == profile.ModeSlowdown && len(l.modes) > 1 { // it has windows of its own
		by = newLab(l.Workload, l.slowed())
		by.speedups = l.speedups
	}
	if err := by.experiment(c, mode); err != nil {
		return profile.Profile{}, err
	}
	l.told = by.told
	found := c.Profile()
	if mode == profile.ModeSlowdown { // which recordings are held against
		c.StopPlan("all is measured")
		found, err = l.recorded(c)
	}
	return found, errors.Join(err, p.End(), c.Shutdown(context.Background()))
}

// caps are the limits of experiments, wide, since this is no service.
var caps = plan.Limits{PerSpan: plan.Duration(time.Second), PerTrace: plan.Duration(time.Minute), Duty: 1, Total: plan.Duration(time.Hour)}

// experiment lets a plan run until it has made its iterations, or for as long as it may take.
func (l *lab) experiment(c *causal.Controller, mode profile.Mode) error {
	plan, err := l.plan(mode)
	if err != nil {
		return err
	}
	if err := c.Apply(plan); err != nil {
		return err
	}
	arms := l.overlap * len(plan.Regions) * len(l.speedups) * 2
	longest := time.Duration(arms) * (l.window + 2*l.settle) * 2
	last, since := 0, time.Now()
	for began := time.Now(); time.Since(began) < longest; time.Sleep(l.settle) {
		p := c.Profile()
		l.tell(p, time.Since(began))
		if p.Iterations >= l.overlap || c.Status().State != causal.StateRunning {
			break
		}
		if p.Experiments != last {
			last, since = p.Experiments, time.Now()
		}
		if last > 0 && time.Since(since) > settled { // all answers are as exact as they get
			break
		}
	}
	return nil
}

// settled is for how long there is no experiment where none is needed any more.
const settled = 5 * time.Second

// plan asks about the workload's regions, and its control.
func (l *lab) plan(mode profile.Mode) (*plan.Plan, error) {
	regions := []map[string]string{}
	for _, r := range l.Regions {
		regions = append(regions, map[string]string{"span": r})
	}
	if l.Control != "" {
		regions = append(regions, map[string]string{"span": l.Control})
	}
	progress := []map[string]string{{"span": workloads.Done, "type": plan.TypeThroughput}}
	if l.Request != "" && mode == profile.ModeSlowdown {
		progress = append(progress, map[string]string{"span": l.Request, "type": plan.TypeLatency})
	}
	var percents []float64
	for _, s := range l.speedups {
		percents = append(percents, 100*s)
	}
	document, err := json.Marshal(map[string]any{
		"api": plan.API, "id": "accuracy-" + l.Name, "expires_at": time.Now().Add(30 * time.Minute), "mode": planned(mode),
		"regions":  regions,
		"progress": progress,
		"grid":     map[string]any{"speedups": percents},
		"timing":   map[string]string{"warmup": "300ms", "experiment": l.window.String(), "cooloff": l.settle.String(), "max_experiment": max(2*time.Second, 2*l.window).String()},
		"limits":   map[string]string{"per_span": "1s", "per_trace": "1m", "duty": "100%", "total": "1h"},
		"abort":    map[string]any{"p99_ratio": 1000, "err_delta": "100%", "min_samples": 1},
	})
	if err != nil {
		return nil, err
	}
	return plan.Parse(document)
}
