package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/replay"
)

const (
	// mostParts is into how many windows one trace is cut, and shortestPart how long each is at least, unless there would be too
	// few.
	mostParts    = 8
	shortestPart = 300 * time.Millisecond
	// mostNames is how many names an error lists.
	mostNames = 8
)

// replay simulates what traces have recorded.
func (w *whatif) replay(ctx context.Context, names []string) (causal.Profile, error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return causal.Profile{}, usagef("-: must be given once")
	}
	var study *replay.Study
	found := false
	for _, name := range names {
		rec, err := w.readTrace(name)
		if err == nil {
			err = w.prepare(rec)
		}
		if err != nil {
			return causal.Profile{}, fmt.Errorf("%s: %w", name, err)
		}
		if study == nil {
			if study, err = w.study(rec, len(names)); err != nil {
				return causal.Profile{}, fmt.Errorf("%s: %w", name, err)
			}
		}
		found = found || slices.ContainsFunc(rec.Regions(), func(r replay.Region) bool { return w.asksAbout(causal.RegionKey{Scope: r.Scope, Span: r.Name}) })
		for _, window := range rec.Split(parts(rec, len(names))) {
			if err := study.Add(ctx, window); err != nil {
				return causal.Profile{}, fmt.Errorf("%s: %w", name, err)
			}
		}
		if !found && w.region != "" {
			return causal.Profile{}, fmt.Errorf("%s: region %q: must match one of %s", name, w.region, some(regionNames(rec)))
		}
	}
	if !found {
		return causal.Profile{}, errors.New("regions: there are none; -function asks about functions")
	}
	p := causal.ReplayProfile(study.Result())
	for _, q := range w.asked.questions { // those about regions have been looked up
		if !slices.ContainsFunc(p.Changes, func(c causal.Change) bool { return c.Change == q.String() }) {
			return causal.Profile{}, fmt.Errorf("%s: there is no such thing in what was recorded, or its operations are not known: a program built by otelprof tells of all", q)
		}
	}
	return p, nil
}

// study asks what the command line does.
func (w *whatif) study(rec *replay.Recording, traces int) (*replay.Study, error) {
	questions, err := w.asked.all(rec, w.speedups)
	if err != nil {
		return nil, err
	}
	return replay.NewStudy(replay.StudyConfig{
		Speedups: w.speedups, Windows: mostParts + traces, Steps: math.MaxInt, Questions: questions, Structure: !w.asked.any() && w.region == "" && w.function == "",
		Only: func(r replay.Region) bool { return w.asksAbout(causal.RegionKey{Scope: r.Scope, Span: r.Name}) },
	})
}

// parts is into how many windows each of so many traces is cut.
func parts(rec *replay.Recording, traces int) int {
	most := int(time.Duration(rec.End-rec.Start) * time.Duration(traces) / shortestPart)
	all := min(max(most, replay.LeastWindows), mostParts)
	return (all + traces - 1) / traces
}

func (w *whatif) readTrace(name string) (*replay.Recording, error) {
	if name == "-" {
		return replay.Read(w.stdin)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
	rec, err := replay.Read(io.Reader(f))
	return rec, withoutPath(err)
}

// prepare looks for the function and the progress point.
func (w *whatif) prepare(rec *replay.Recording) error {
	if w.function != "" {
		if samples, waits := rec.Function(w.function); samples == 0 && waits == 0 {
			return fmt.Errorf("function %q: must be in a call stack of the trace; what computes has stacks while a CPU profile is on", w.function)
		}
	}
	if w.progress != "" {
		if rec.Count(w.progress) == 0 {
			return fmt.Errorf("progress point %q: must have visits: %s have some", w.progress, some(slices.Concat(rec.Points(), rec.Countable())))
		}
		return nil
	}
	if len(rec.Points()) == 0 {
		return fmt.Errorf("progress point: there is none; -progress NAME takes a region, or a function of goroutines: %s", some(rec.Countable()))
	}
	return nil
}

func regionNames(rec *replay.Recording) (names []string) {
	for _, r := range rec.Regions() {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// some lists the first names.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, 0, mostNames)
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if len(quoted) == mostNames {
			return strings.Join(quoted, ", ") + ", …"
		}
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	return strings.Join(quoted, ", ")
}
