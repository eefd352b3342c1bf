package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/internal/noise"
)

// A lab builds programs, runs them, and prints what comes out.
type lab struct {
	options
	root, tools string
	out         io.Writer
}

// try does all that was asked for with one program.
func (l lab) try(ctx context.Context, p program) (missed error) {
	fmt.Fprintf(l.out, "\n# %s\n", p.about)
	if p.processes() > 1 && l.mode == profile.ModeReplay { // replay is asked beside plans
		l.mode = profile.ModeSlowdown
	}
	if p.speedups != nil {
		l.speedups = p.speedups
	}
	s, err := prepare(ctx, p, l.root, l.tools)
	if err != nil {
		return err
	}
	for _, b := range l.builds {
		tool := ""
		if b == byTheTool {
			if tool, err = buildTool(ctx, l.root, l.tools); err != nil {
				return err
			}
		}
		began := time.Now()
		binary, err := s.build(ctx, b, tool)
		if err != nil {
			return err
		}
		fmt.Fprintf(l.out, "# %s: built by %s in %v\n", p.name, b, time.Since(began).Round(time.Second))
		err = l.tryBuild(ctx, p, b, binary)
		if (err == nil || errors.Is(err, errClaim)) && l.traces == "" && !l.truth {
			err = errors.Join(err, l.tryVariants(ctx, p, b, binary))
		}
		if missed = errors.Join(missed, err); err != nil && !errors.Is(err, errClaim) {
			return missed
		}
	}
	return missed
}

// tryBuild does it with one build.
func (l lab) tryBuild(ctx context.Context, p program, b build, binary string) (err error) {
	experiments := "off"
	if l.mode.Delays() {
		experiments = "on"
	}
	running, err := start(ctx, p, binary, experiments)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if err := sleep(ctx, l.warm); err != nil {
		return err
	}
	period, err := running.period(ctx, l.settings)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "# %s: %.1f answers a second\n", p.name, 1/period)
	if l.traces != "" {
		return l.writeTraces(ctx, running)
	}
	if l.mode.Delays() && !l.truth {
		return l.tryPlans(ctx, p, b, running)
	}
	var profile profile.Profile
	if !l.truth {
		text := []byte(nil)
		var t *noise.Tally
		if profile, text, t, err = running.predict(ctx, l.settings); err != nil {
			return err
		}
		fmt.Fprintf(l.out, "# %s: recordings: %s\n", p.name, t)
		if err := keep(binary+".profile.json", text); err != nil {
			return err
		}
	}
	actual, t, err := running.realize(ctx, l.settings)
	if err != nil {
		return err
	}
	fmt.Fprintf(l.out, "# %s: windows: %s\n", p.name, t)
	missed := l.print(p, b, profile, actual)
	all, err := running.crowd.answered()
	if err != nil {
		return err
	}
	if all.Failed > 0 {
		fmt.Fprintf(l.out, "# %s: %d of %d answers had another status than 200 and count for nothing, the last %s\n", p.name, all.Failed, all.Failed+all.Count, strings.TrimSpace(all.Status))
	}
	return missed
}

// keep writes what may be looked at later.
func keep(path string, text []byte) error { return os.WriteFile(path, text, 0o644) }

// vague is by how many percentage points windows that are alike may differ.
const vague = 3

// print prints the cells of recordings alone, and returns which claims do not hold. Where windows
// that are alike differ by much, none is judged.
func (l lab) print(p program, b build, prof profile.Profile, actual map[question][]float64) (missed error) {
	cells := judge(p, b, profile.ModeReplay, prof, actual, l.speedups)
	for _, c := range cells {
		if l.truth {
			fmt.Fprintf(l.out, "# truth %s build=%s region=%s speedup=%.2f actual=%.2f from %.2f to %.2f\n", p.name, b, word(c.region.span), c.speedup, c.actual, c.actualLo, c.actualHi)
			continue
		}
		fmt.Fprintln(l.out, c.line())
		fmt.Fprintf(l.out, "#   actual from %.2f to %.2f in %d windows\n", c.actualLo, c.actualHi, len(actual[c.question]))
		if err := c.claims(); err != nil {
			missed = errors.Join(missed, fmt.Errorf("%s, %s: %w", p.name, b, err))
		}
	}
	alike, least, most := median(actual[question{p.regions[0], 0}])
	fmt.Fprintf(l.out, "# %s: windows that are alike differ by %.2f, from %.2f to %.2f\n", p.name, alike, least, most)
	if worst := max(-least, most); worst > vague {
		fmt.Fprintf(l.out, "# %s: the actual values are worth little: alike windows should differ by %d points at most\n", p.name, vague)
		missed = nil
	}
	if l.truth {
		return nil
	}
	for _, note := range prof.Notes {
		fmt.Fprintf(l.out, "# %s: %s\n", p.name, note)
	}
	fmt.Fprintln(l.out, summary(p.name, b, cells))
	return missed
}

// writeTraces writes execution traces, one a file.
func (l lab) writeTraces(ctx context.Context, s *process) error {
	if err := os.MkdirAll(l.traces, 0o755); err != nil {
		return err
	}
	t := &noise.Tally{Patience: l.patience}
	for i := range l.windows {
		var texts [][]byte
		err := s.undisturbed(t, func() (err error) { texts, err = s.traces(ctx, l.record); return err })
		if err != nil {
			return err
		}
		for k, text := range texts {
			name := fmt.Sprintf("w%d.trace", i+1)
			if s.processes() > 1 {
				name = fmt.Sprintf("w%d-%s.trace", i+1, s.members[k].service)
			}
			path := filepath.Join(l.traces, name)
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(l.out, "# %s: %d bytes\n", path, len(text))
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	fmt.Fprintf(l.out, "# %s: recordings: %s\n", s.name, t)
	return nil
}
