package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/otelprof/otelprof/integration/accuracy/workloads"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A program is one of the corpus: its traces, and what faster regions bring to throughput.
type program struct {
	name   string
	traces []string
	truths []truth
}

// A truth is what was measured of one region at one speed-up, in percent.
type truth struct {
	region         string
	speedup        float64
	points, lo, hi float64
}

const (
	// mostAsked is the largest speed-up that is asked about.
	mostAsked = 0.5
	// steps bounds the simulations of a window, an eighth of the usual.
	steps = 8_000_000
)

// readCorpus reads a folder that accuracy has written.
func readCorpus(dir string, which *regexp.Regexp) (all []program, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "truth.txt"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		p := program{name: filepath.Base(filepath.Dir(file))}
		if !which.MatchString(p.name) {
			continue
		}
		if p.truths, err = readTruths(file); err != nil {
			return nil, err
		}
		if p.traces, err = filepath.Glob(filepath.Join(filepath.Dir(file), "*.trace")); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no program: must hold folders with truth.txt, as accuracy -mode replay -corpus writes them", dir)
	}
	return all, nil
}

// readTruths reads lines "region speedup points lo hi", of throughput; others end with a metric.
func readTruths(file string) (all []truth, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || fields[0] == "#" {
			continue
		}
		if _, err := strconv.ParseFloat(fields[len(fields)-1], 64); err != nil { // of a latency
			continue
		}
		name := len(fields) - 4 // of one word or several
		t := truth{region: strings.Join(fields[:name], " ")}
		for i, to := range []*float64{&t.speedup, &t.points, &t.lo, &t.hi} {
			if *to, err = strconv.ParseFloat(fields[name+i], 64); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, n, err)
			}
		}
		if t.speedup <= mostAsked {
			all = append(all, t)
		}
	}
	return all, lines.Err()
}

// ask answers from the traces, without a rule.
func (p *program) ask(ctx context.Context, rule string) (all []cell, err error) {
	var speedups []float64
	for _, t := range p.truths {
		if !slices.Contains(speedups, t.speedup) {
			speedups = append(speedups, t.speedup)
		}
	}
	study, err := replay.NewStudy(replay.StudyConfig{
		Speedups: speedups, Steps: steps, Without: map[string]bool{rule: true},
		Only: func(r trace.Region) bool {
			return slices.ContainsFunc(p.truths, func(t truth) bool { return t.region == r.Name })
		},
	})
	if err != nil {
		return nil, err
	}
	for _, name := range p.traces {
		err := add(ctx, study, name)
		if err != nil && (rule == "" || ctx.Err() != nil) { // else what needs the rule has no answer
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	result := study.Result()
	for _, t := range p.truths {
		c := cell{program: p.name, truth: t}
		for _, a := range result.Answers {
			if a.Region.Name == t.region && a.Speedup == t.speedup && a.Point == workloads.Done && a.Metric == replay.Throughput && a.Withheld == replay.WithheldNone {
				c.given, c.predicted, c.from, c.to = true, 100*a.Reduction, 100*a.Lo, 100*a.Hi
			}
		}
		all = append(all, c)
	}
	return all, nil
}

func add(ctx context.Context, study *replay.Study, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	rec, err := trace.Read(f)
	if err != nil {
		return err
	}
	return study.Add(ctx, rec)
}
