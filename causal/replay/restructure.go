package replay

import (
	"context"
	"slices"
)

// restructure asks a window about the program built in other ways.
func (s *Study) restructure(ctx context.Context, w *window, p *program, base *outcome, kept *alternative) error {
	d := p.rec.End - p.rec.Start
	all := s.config.Questions
	if s.config.Structure {
		all = append(slices.Clip(all), p.usualQuestions()...)
	}
	for _, q := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x, c, ok := q.on(p)
		if !ok {
			continue
		}
		region := Region{QuestionScope, q.String()}
		w.asked[ask{region, 0}] = true
		o := simulate(x, c, d)
		var other outcome
		bounded := false
		if kept != nil {
			var y *program
			if y, c, bounded = q.on(kept.p); bounded {
				other = simulate(y, c, d)
			}
		}
		for i := range p.points {
			name := p.points[i].name
			if _, known := w.checks[name]; !known {
				continue
			}
			asked := question{region: region, point: name}
			w.sample(asked, base, &o, i, d)
			if bounded {
				w.bound(asked, &kept.base, &other, i, d)
			}
		}
	}
	return nil
}
