package causal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/replay"
)

// A replayed is the study that simulates recordings.
type replayed struct {
	turn  sync.Mutex // held while a recording is analysed
	study *replay.Study

	mu     sync.Mutex
	result replay.Result
}

// newReplayed returns a study without recordings.
func newReplayed() study {
	s, err := replay.NewStudy(replay.StudyConfig{})
	if err != nil {
		panic(err) // the usual questions are allowed
	}
	return &replayed{study: s}
}

func (r *replayed) add(ctx context.Context, w *record.Window) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	rec, err := replay.Read(w.Reader())
	if err != nil {
		return err
	}
	if err := r.study.Add(ctx, rec); err != nil {
		return err
	}
	result := r.study.Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = result
	return nil
}

// addTo adds a curve for each region, progress point and metric.
func (r *replayed) addTo(p *Profile) {
	r.mu.Lock()
	result := r.result
	r.mu.Unlock()
	type key struct {
		region replay.Region
		point  string
		metric replay.Metric
	}
	curves := map[key]int{}
	for i := range result.Answers {
		a := &result.Answers[i]
		k := key{a.Region, a.Point, a.Metric}
		at, ok := curves[k]
		if !ok {
			at = len(p.Curves)
			curves[k] = at
			p.Curves = append(p.Curves, newCurve(ModeReplay, RegionKey{a.Region.Scope, a.Region.Name}, a.Point, Metric(a.Metric), time.Duration(a.Base)))
		}
		c := &p.Curves[at]
		c.BasePeriod = max(c.BasePeriod, time.Duration(a.Base))
		c.Effects = append(c.Effects, effectReplayed(a, result.Windows))
	}
	p.Notes = append(p.Notes, notesOn(result)...)
}

// effectReplayed is an answer as profiles have it.
func effectReplayed(a *replay.Answer, windows int) Effect {
	e := Effect{Speedup: a.Speedup, Samples: len(a.Samples)}
	if why := whyNot(a, windows); why != "" {
		e.Withheld = why
		return e
	}
	e.Reduction, e.StdErr, e.Lo, e.Hi = a.Reduction, a.StdErr, a.Lo, a.Hi
	e.Reductions = thinned(a.Samples)
	if a.Metric == replay.Throughput {
		e.ThroughputGain = gain(a.Reduction)
	}
	return e
}

// whyNot says why an answer has no number, "" if it has one.
func whyNot(a *replay.Answer, windows int) string {
	switch a.Withheld {
	case replay.WithheldNone:
		return ""
	case replay.WithheldWindows:
		return fmt.Sprintf("%s recorded, %d are needed", countOf(windows, "window"), replay.LeastWindows)
	case replay.WithheldDeviation:
		return fmt.Sprintf("the replay of nothing changed misses what was recorded by more than %g %%", 100*replay.MaxDeviation)
	case replay.WithheldStuck:
		return "the replay comes to a state in which nothing can go on"
	default:
		return "too few visits of the progress point in a window"
	}
}

// notesOn says what the answers of mode replay rest on.
func notesOn(r replay.Result) (notes []string) {
	if r.Windows > 0 && r.Inferred {
		notes = append(notes, "replay has told locks and channels from which goroutine woke which; build with otelprof to know them")
	}
	return notes
}
