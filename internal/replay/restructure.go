package replay

import (
	"context"
	"slices"
)

// questions returns what is asked about a program besides the speed-ups of regions.
func (s *Study) questions(p *program) []Question {
	if !s.config.Structure {
		return s.config.Questions
	}
	return append(slices.Clip(s.config.Questions), p.usualQuestions()...)
}

// region is in place of one in the answers to a question.
func (q Question) region() Region { return Region{QuestionScope, q.String()} }

// restructure asks a window about the program built in other ways.
func (s *Study) restructure(ctx context.Context, w *window, p *program, base *outcome, others []alternative) error {
	d := p.rec.End - p.rec.Start
	all := s.questions(p)
	var locks sharing
	if w.stock && slices.ContainsFunc(all, func(q Question) bool { return q.Procs > p.rec.Procs }) {
		locks = p.rec.sharing()
	}
	for _, q := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x, c, ok := q.on(p)
		if !ok {
			continue
		}
		region := q.region()
		w.asked[ask{region, 0, false}] = true
		o := simulate(x, c, d)
		varied, _ := w.vary(x, c, base, &o, d)
		if q.Procs > 0 && w.starved > 0 { // other programs may leave other processors alone
			undisturbed := c
			undisturbed.pace = 1 - w.starved
			varied = append(varied, variation{*base, simulate(x, undisturbed, d)})
		}
		bounds := make([]outcome, len(others))
		bounded := make([]bool, len(others))
		for i := range others {
			if others[i].most || others[i].slower { // it has no locks, or no ticks
				continue
			}
			var y *program
			if y, c, bounded[i] = q.on(others[i].p); bounded[i] {
				bounds[i] = simulate(y, c, d)
			}
		}
		for i := range p.points {
			name := p.points[i].name
			if _, known := w.checks[name]; !known {
				continue
			}
			asked := question{region: region, point: name}
			w.sample(asked, base, &o, i, d)
			w.widen(asked, base, varied, i, d)
			for k := range others {
				if bounded[k] {
					w.bound(asked, &others[k], &bounds[k], i, d)
				}
			}
			w.buckets.bound(w, asked)
			if w.stock && q.Procs > p.rec.Procs {
				w.scale(asked, p.rec.Procs, q.Procs, locks)
			}
		}
	}
	return nil
}
