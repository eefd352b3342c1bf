package replay

import (
	"context"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// questions returns what is asked about a program besides the speed-ups of regions, what was asked
// for first.
func (s *Study) questions(p *model.Program) []Question {
	if !s.config.Structure {
		return s.config.Questions
	}
	return append(slices.Clip(s.config.Questions), usualQuestions(p)...)
}

// ask has a region that stands for the question, so that one table holds all answers.
func (q Question) ask() ask { return ask{region: trace.Region{Scope: QuestionScope, Name: q.String()}} }

// restructure asks a window about the program built in other ways. All questions are asked of each
// window: there are few, and an answer has as many windows as there are. Base is the replay of p
// with nothing changed. Each question rewrites p, and the alternatives that it has an answer of.
// One about regions has the answer that the region by itself has (TestQuestionsOfRegions).
func (s *Study) restructure(ctx context.Context, w *window, p *model.Program, base *sim.Outcome, others []doubt.Alternative) error {
	// More processors have goroutines meet that took turns before: of a stock trace that needs
	// bounds of its own, see scaling.go.
	d := p.Rec.End - p.Rec.Start
	all := s.questions(p)
	var locks sharing
	if w.stock && slices.ContainsFunc(all, func(q Question) bool { return q.Procs > p.Rec.Procs }) {
		locks = sharingIn(p.Rec)
	}
	for _, q := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// A window in which no goroutine waited for the lock has no sample, and is not asked.
		x, c, ok := q.on(p)
		if !ok {
			continue
		}
		a := q.ask()
		w.asked[a] = true
		o := sim.Simulate(x, c, d)
		varied, _ := w.vary(p, x, c, base, &o, d)
		if q.Procs > 0 && w.Starved > 0 { // other programs may leave other processors alone
			undisturbed := c
			undisturbed.Pace = 1 - w.Starved
			varied = append(varied, sim.Variation{Base: *base, Changed: sim.Simulate(x, undisturbed, d)})
		}
		bounds := q.bounds(others, d)
		by, _ := byOf(q.Faster)
		// The answer at each progress point, and its bounds: as in simulate, for regions.
		for i, point := range w.checked(p) {
			asked := question{ask: a, point: point}
			w.sample(asked, base, &o, i, d)
			w.widen(asked, base, varied, i, d)
			for k := range others {
				if bounds[k].Visits != nil {
					w.bound(asked, &others[k], &bounds[k], i, d, by)
				}
			}
			bound(w.buckets, w, asked, by)
			if w.stock && q.Procs > p.Rec.Procs {
				w.scale(asked, p.Rec.Procs, q.Procs, locks)
			}
		}
	}
	return nil
}

// bounds simulates the question in each of the alternatives. One without the very thing that is
// asked about has no answer, and no visits.
func (q Question) bounds(others []doubt.Alternative, d int64) []sim.Outcome {
	all := make([]sim.Outcome, len(others))
	by, _ := byOf(q.Faster)
	for i, other := range others {
		switch {
		case len(q.Faster) == 0 && (other.Most || other.Pace > 0): // it has no locks, or other processors
			continue
		case other.Slower && by >= 0: // or no ticks
			continue
		}
		if y, c, ok := q.on(other.P); ok {
			all[i] = sim.Simulate(y, other.Change(c), d)
		}
	}
	return all
}
