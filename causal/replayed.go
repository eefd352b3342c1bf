package causal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/replay"
)

// replayed is the study of what recordings say of the program.
type replayed struct {
	mu     sync.Mutex // held for a moment only; add has its turn from the recorder
	began  time.Time  // the first recording
	result replay.Result

	study *replay.Study
}

func newReplayed() study {
	s, err := replay.NewStudy(replay.StudyConfig{Structure: true})
	if err != nil {
		panic(err) // the usual questions are in range
	}
	return &replayed{study: s}
}

func (r *replayed) add(ctx context.Context, w *record.Window) error {
	rec, err := replay.Read(w.Reader())
	if err != nil {
		return err
	}
	for _, window := range rec.Split(windowsIn(rec)) {
		if err := r.study.Add(ctx, window); err != nil {
			return err
		}
	}
	result := r.study.Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result = result; r.began.IsZero() {
		r.began = w.Begun
	}
	return nil
}

const (
	// mostWindows is into how many windows a recording is cut at most, so that there are numbers soon, and one window that
	// cannot be simulated leaves others; leastIn is how many visits each should have.
	mostWindows = 3
	leastIn     = 100
)

func windowsIn(rec *replay.Recording) int { return max(1, min(rec.Visits()/leastIn, mostWindows)) }

func (r *replayed) addTo(p *Profile) {
	r.mu.Lock()
	result, began := r.result, r.began
	r.mu.Unlock()
	if result.Windows > 0 && p.Started.IsZero() {
		p.Started = began
	}
	p.addReplay(&result)
}

// ReplayProfile returns what the windows of a study say, for those who read recordings themselves.
func ReplayProfile(r replay.Result) Profile {
	var p Profile
	p.addReplay(&r)
	finish(&p)
	return p
}

func (p *Profile) addReplay(result *replay.Result) {
	if result.Windows == 0 {
		return
	}
	// Answers come in the order of their questions, so those of one curve stand together.
	for _, a := range result.Answers {
		if a.Region.Scope == replay.QuestionScope {
			p.addChange(a)
			continue
		}
		region := RegionKey{Scope: a.Region.Scope, Span: a.Region.Name}
		last := len(p.Curves) - 1
		if last < 0 || p.Curves[last].Mode != ModeReplay || p.Curves[last].question() != (question{region, a.Point, Metric(a.Metric)}) {
			p.Curves = append(p.Curves, newCurve(ModeReplay, region, a.Point, Metric(a.Metric), 0))
			last++
		}
		c := &p.Curves[last]
		if a.Withheld == replay.WithheldNone {
			c.BasePeriod = max(c.BasePeriod, time.Duration(a.Base))
		}
		c.Effects = append(c.Effects, replayEffect(a))
	}
	p.Recorded = &Recorded{Windows: result.Windows, Length: result.Length, Inferred: result.Inferred}
	for _, r := range result.Rests {
		p.Recorded.Progress = append(p.Recorded.Progress, RecordedProgress{r.Point, r.Visits, r.Windows, r.Deviation})
	}
	if result.Inferred {
		p.Notes = append(p.Notes, "replay: locks and channels are told from who woke whom; in a program built by otelprof build they are all known")
	}
}

// replayEffect is an answer as an effect.
func replayEffect(a replay.Answer) Effect {
	e := Effect{Speedup: a.Speedup, Samples: len(a.Samples)}
	if e.Withheld = whyNotReplayed(a); e.Withheld != "" {
		return e
	}
	e.Reduction, e.StdErr, e.Lo, e.Hi = a.Reduction, a.StdErr, a.Lo, a.Hi
	e.Reductions = thinned(slices.Clone(a.Samples))
	if a.Metric == replay.Throughput {
		e.ThroughputGain = gain(a.Reduction)
	}
	return e
}

// whyNotReplayed says why an answer has no number, "" if it has.
func whyNotReplayed(a replay.Answer) string {
	switch a.Withheld {
	case replay.WithheldNone:
		return ""
	case replay.WithheldWindows:
		return fmt.Sprintf("%s measured, %d are needed", countOf(a.Windows, "recorded window"), replay.LeastWindows)
	case replay.WithheldDeviation:
		return fmt.Sprintf("simulated with nothing changed, the program is not within %.0f %% of what was recorded", 100*replay.MaxDeviation)
	case replay.WithheldStuck:
		return "simulated, the program came to where nothing could go on"
	case replay.WithheldVisits:
		return "too few visits of the progress point in most recordings"
	}
	return "no number"
}
