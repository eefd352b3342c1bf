package causal

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/otelprof/otelprof/causal/internal/record"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/internal/clock/rest"
	"github.com/otelprof/otelprof/internal/replay"
	"github.com/otelprof/otelprof/internal/replay/offwake"
	"github.com/otelprof/otelprof/internal/replay/replayprofile"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// replayed is the study of what recordings say of the program.
type replayed struct {
	mu     sync.Mutex // held for a moment only; add has its turn from the recorder
	began  time.Time  // the first recording
	result replay.Result
	misses bool    // the last recording
	cut    error   // where that ends too early
	width  float64 // of the interval that matters most
	still  bool    // it was about as wide before the last recording

	study *replay.Study
	slows slowed

	keptWaits
}

// A slowed is which regions have been slowed down, and by which parts of their own time.
type slowed func() (levels []float64, regions []profile.Region)

// newReplayed returns a study in which the same is done, to be held against what that has cost.
func newReplayed(slows slowed) study {
	s, err := replay.NewStudy(replay.StudyConfig{Structure: true})
	if err != nil {
		panic(err) // the usual questions are in range
	}
	return &replayed{study: s, slows: slows}
}

func (r *replayed) add(ctx context.Context, w *record.Window) error {
	rec, err := trace.ReadResting(w.Reader(), rest.NewWorker(ctx).DueOrOver)
	if err != nil {
		return err
	}
	levels, slowed := r.slows()
	regions := make([]trace.Region, len(slowed))
	for i, region := range slowed {
		regions[i] = trace.Region(region)
	}
	r.study.Hold(levels, regions)
	misses := true
	var failed error
	if err := trace.Contain(func() {
		r.keptWaits.add(w, offwake.Read(rec))
		var machine trace.Machine
		part := 1.0
		if rec.Cut != nil {
			part = min(1, float64(rec.End-rec.Start)/float64(w.Length))
		}
		machine.Add(trace.Machine(w.Load), part)
		rec.Ran(machine)
		for window := range rec.Windows(replay.Parts(rec)) {
			if failed = r.study.Add(ctx, window); failed != nil {
				return
			}
			misses = misses && r.study.Missed()
		}
	}); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	result := r.study.Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	width := result.Width()
	r.misses, r.cut, r.width, r.still = misses, rec.Cut, width, width > shrinks*r.width
	if r.result = result; r.began.IsZero() {
		r.began = w.Begun
	}
	return nil
}

const (
	// narrow is how wide an interval is that more recordings are not needed for, and shrinks by
	// which factor one more makes it narrower, or it is not worth that.
	narrow  = 0.04
	shrinks = 0.9
)

func (r *replayed) enough() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result.Enough() && (r.width <= narrow || r.still)
}

func (r *replayed) missed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.misses
}

func (r *replayed) addTo(p *profile.Profile) {
	r.mu.Lock()
	result, began, cut := r.result, r.began, r.cut
	r.mu.Unlock()
	if result.Windows > 0 && p.Started.IsZero() {
		p.Started = began
	}
	r.addWaits(p)
	replayprofile.Add(p, &result)
	if cut != nil {
		p.Notes = append(p.Notes, "replay: the last recording: "+cut.Error())
	}
}
