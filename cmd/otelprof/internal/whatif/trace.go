package whatif

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/offwake"
	"github.com/otelprof/otelprof/internal/replay/replayprofile"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

const (
	// mostParts is into how many windows one trace is cut, and shortestPart how long each is at
	// least, unless there would be too few.
	mostParts    = 8
	shortestPart = 300 * time.Millisecond
	// mostNames is how many names an error lists.
	mostNames = 8
)

// waitsOf is what spans waited for; a trace that cannot be read so has none.
func waitsOf(rec *trace.Recording) *offwake.Waits {
	found := &offwake.Waits{}
	_ = trace.Contain(func() { found = offwake.Read(rec) })
	return found
}

// OfTraces returns the profile of execution traces, without questions of its own.
func OfTraces(ctx context.Context, c *command.Call, names []string) (profile.Profile, error) {
	w := whatif{Call: c}
	return w.replay(ctx, names)
}

// replay simulates what traces have recorded.
func (w *whatif) replay(ctx context.Context, names []string) (profile.Profile, error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return profile.Profile{}, command.Usagef("-: must be given once")
	}
	client.WarnOfRepeats(w.Stderr, names)
	if w.join {
		joined := traceSource{strings.Join(names, ", "), func() (*trace.Recording, error) {
			return together(names, w.readTrace, w.leave)
		}}
		return w.simulate(ctx, []traceSource{joined}, 1)
	}
	traces := make([]traceSource, len(names))
	for i, name := range names {
		traces[i] = traceSource{name, func() (*trace.Recording, error) { return w.readTrace(name) }}
	}
	return w.simulate(ctx, traces, len(names))
}

// mostLive is how many traces a program that runs is asked for at most, until there are windows
// enough that can be simulated.
const mostLive = 3

// replayLive simulates what programs that run are asked to record at the same time.
func (w *whatif) replayLive(ctx context.Context, addresses []string) (profile.Profile, error) {
	if err := w.checkTimes(); err != nil {
		return profile.Profile{}, err
	}
	live := traceSource{strings.Join(addresses, ", "), func() (*trace.Recording, error) {
		return together(addresses, func(address string) (*trace.Recording, error) { return w.fetchTrace(ctx, address) }, w.leave)
	}}
	return w.simulate(ctx, slices.Repeat([]traceSource{live}, mostLive), 1)
}

// A traceSource is where a trace comes from.
type traceSource struct {
	name string
	read func() (*trace.Recording, error)
}

// simulate asks as many traces as are needed, and any others until there are windows enough.
func (w *whatif) simulate(ctx context.Context, traces []traceSource, needed int) (profile.Profile, error) {
	var study *replay.Study
	found := false
	var waited, notes, joined, answerable []string
	var waits [][]profile.RegionWaits
	var tails [][]offwake.Tail
	for i, from := range traces {
		if i >= needed {
			if result := study.Result(); result.Enough() && !slices.ContainsFunc(result.Answers, asksMore) {
				break
			}
		}
		name := from.name
		rec, err := from.read()
		if err != nil && i >= needed { // what was seen has an answer
			notes = append(notes, fmt.Sprintf("%s: no further recording: %v", name, err))
			break
		}
		if err == nil {
			err = w.prepare(rec)
		}
		if err != nil {
			return profile.Profile{}, fmt.Errorf("%s: %w", name, err)
		}
		if rec.Cut != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", name, rec.Cut))
		}
		joined = append(clocksOf(rec), sharedBy(rec)...)
		if study == nil {
			if study, err = w.study(rec, len(traces)); err != nil {
				return profile.Profile{}, fmt.Errorf("%s: %w", name, err)
			}
		}
		waited = append(waited, rec.Waited()...)
		of := waitsOf(rec)
		waits, tails = append(waits, replayprofile.Waits(of)), append(tails, of.Tails)
		if w.progress != "" {
			answerable = append(answerable, answerableOf(rec)...)
		}
		found = found || slices.ContainsFunc(rec.Regions, func(r trace.Region) bool { return w.asksAbout(r) })
		for window := range rec.Windows(parts(rec, needed)) {
			if err := study.Add(ctx, window); err != nil {
				return profile.Profile{}, fmt.Errorf("%s: %w", name, err)
			}
		}
		if !found && w.region != "" {
			return profile.Profile{}, fmt.Errorf("%s: region %q: must match one of %s", name, w.region, some(regionNames(rec)))
		}
	}
	if !found {
		return profile.Profile{}, errors.New("regions: there are none; -function asks about functions")
	}
	p := replayprofile.Of(study.Result())
	p.Notes = slices.Concat(p.Notes, notes, joined, w.left)
	p.Waits, p.Tails = profile.MergeWaits(waits...), replayprofile.Tails(offwake.Contrasts(tails...))
	return p, w.unanswered(p, answerable, waited)
}

// unanswered returns why a profile has no answer to what was asked, nil where it has. The names are
// those of progress points that have visits enough, and of where goroutines waited.
func (w *whatif) unanswered(p profile.Profile, answerable, waited []string) error {
	if w.progress != "" && !w.answered(p) {
		others := slices.DeleteFunc(answerable, func(name string) bool { return name == w.progress })
		return fmt.Errorf("progress point %q: no window of the trace can be answered from: must have at least %d visits in each of %d parts of it; a longer trace has more, and these may have enough: %s",
			w.progress, doubt.LeastVisits, doubt.LeastWindows, some(others))
	}
	for _, q := range w.asked.questions { // those about regions have been looked up
		if !slices.ContainsFunc(p.Changes, func(c profile.Change) bool { return c.Change == q.String() }) {
			return fmt.Errorf("%s: there is no such thing in what was recorded, or its operations are not known: a program of otelprof build records all; goroutines wait for locks and channels at %s", q, some(waited))
		}
	}
	return nil
}

// answered reports whether a profile has anything of the progress point that was asked about.
func (w *whatif) answered(p profile.Profile) bool {
	return slices.ContainsFunc(p.Curves, func(c profile.Curve) bool { return c.Progress == w.progress }) ||
		slices.ContainsFunc(p.Changes, func(c profile.Change) bool { return c.Progress == w.progress })
}

// asksMore reports whether an answer about another build takes more windows.
func asksMore(a replay.Answer) bool {
	return a.Region.Scope == replay.QuestionScope && a.Metric == replay.Throughput && a.Withheld == replay.WithheldWindows
}

// study asks what the command line does.
func (w *whatif) study(rec *trace.Recording, traces int) (*replay.Study, error) {
	questions, err := w.asked.all(rec, w.speedups)
	if err != nil {
		return nil, err
	}
	return replay.NewStudy(replay.StudyConfig{
		Speedups: w.speedups, Windows: mostParts * traces, Steps: math.MaxInt, Questions: questions, Structure: !w.asked.any() && w.region == "" && w.function == "",
		Only: w.asksAbout,
	})
}

// parts is into how many windows each of the traces is cut.
func parts(rec *trace.Recording, traces int) int {
	most := int(time.Duration(rec.End-rec.Start) * time.Duration(traces) / shortestPart)
	all := min(max(most, doubt.LeastWindows), mostParts)
	return (all + traces - 1) / traces
}

func (w *whatif) readTrace(name string) (*trace.Recording, error) {
	return client.ReadFile(name, w.Stdin, trace.Read)
}

// prepare looks for the function and the progress point.
func (w *whatif) prepare(rec *trace.Recording) error {
	if w.function != "" {
		if samples, waits := infer.Function(rec, w.function); samples == 0 && waits == 0 {
			return fmt.Errorf("function %q: must be in a call stack of the trace; what computes has stacks while a CPU profile is on", w.function)
		}
	}
	if w.progress != "" {
		if replay.Count(rec, w.progress) == 0 {
			return fmt.Errorf("progress point %q: must have visits: %s have some", w.progress, some(answerableOf(rec)))
		}
		return nil
	}
	if len(replay.Points(rec)) == 0 {
		return fmt.Errorf("progress point: there is none; -progress NAME takes a region, or a function of goroutines: %s", some(replay.Countable(rec)))
	}
	return nil
}

// answerableOf returns the names that -progress takes and that have visits enough.
func answerableOf(rec *trace.Recording) []string {
	return slices.Concat(replay.Answerable(rec), replay.Countable(rec))
}

func regionNames(rec *trace.Recording) (names []string) {
	for _, r := range rec.Regions {
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
