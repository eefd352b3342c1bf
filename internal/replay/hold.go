package replay

import (
	"context"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// holding returns the program with holds behind the spans of regions.
func holding(p *model.Program, regions []int32) *model.Program {
	x := *p
	x.Compiled, x.Spare = nil, nil
	x.Sets, x.Holds = slices.Clip(p.Sets), map[int32]model.Holdback{}
	sets := map[int32]uint16{}
	for _, r := range regions {
		if len(x.Sets) < 1<<16-1 {
			sets[r] = uint16(len(x.Sets))
			x.Sets = append(x.Sets, nil)
		}
	}
	x.HeldSets = sets
	times, rest := ownTimes(p)
	for span, t := range times {
		r := p.Rec.Spans[span].Region
		if set, held := sets[r]; held {
			if t == nil {
				t = &model.Own{Run: rest[r].Run / rest[r].spans, Out: rest[r].Out / rest[r].spans}
			}
			x.Holds[span] = model.Holdback{Set: set, Own: *t}
		}
	}
	return &x
}

// left is own time in a region of no span that is known, and the number of spans that it may be of.
type left struct {
	model.Own
	spans int64
}

// An openSpan is open on a goroutine, and its own time until now: the time in which no later span
// was open there.
type openSpan struct {
	span int32
	model.Own
}

// ownTimes returns the own time of each span that ends, nil for one that began on another goroutine
// or before the window: what is left of its region is theirs.
func ownTimes(p *model.Program) (of map[int32]*model.Own, rest []left) {
	of, rest = map[int32]*model.Own{}, make([]left, len(p.Rec.Regions))
	for i := range p.Lists {
		p.Rec.Rests()
		var open []*openSpan // the latest last
		for k := range p.Lists[i].Ops {
			o := &p.Lists[i].Ops[k]
			switch o.Kind {
			case model.OpOpen:
				open = append(open, &openSpan{span: o.Arg})
			case model.OpClose:
				of[o.Arg] = nil
				if n := slices.IndexFunc(open, func(x *openSpan) bool { return x.span == o.Arg }); n >= 0 {
					of[o.Arg] = &open[n].Own
					open = slices.Delete(open, n, n+1)
				} else {
					rest[p.Rec.Spans[o.Arg].Region].spans++
				}
			case model.OpRun, model.OpOut, model.OpSend:
				switch set := p.Sets[o.Set]; {
				case len(open) > 0:
					add(&open[len(open)-1].Own, o)
				case len(set) == 1:
					add(&rest[set[0]].Own, o)
				}
			}
		}
	}
	return of, rest
}

func add(t *model.Own, o *model.Op) {
	if o.Kind == model.OpRun {
		t.Run += o.D
	} else {
		t.Out += o.D
	}
}

// Hold has further windows be asked what slow-downs of these regions would cost, by so large parts
// of their own time, each above 0.
func (s *Study) Hold(levels []float64, regions []trace.Region) { s.levels, s.held = levels, regions }

// hold simulates slow-downs in a window, as far as steps allow.
func (s *Study) hold(ctx context.Context, w *window, p *model.Program, others []doubt.Alternative, steps int) error {
	var regions []int32
	for _, r := range s.held {
		if i := slices.Index(p.Rec.Regions, r); i >= 0 {
			regions = append(regions, int32(i))
		}
	}
	if len(regions) == 0 {
		return nil
	}
	d := p.Rec.End - p.Rec.Start
	for k, all := 0, append([]doubt.Alternative{{P: p}}, others...); k < len(all) && steps < s.config.Steps; k++ {
		x := holding(all[k].P, regions)
		base := sim.Simulate(x, sim.Change{Pace: all[k].Pace}, d)
		for _, level := range s.levels {
			for _, r := range regions {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				o := sim.Simulate(x, sim.Change{Pace: all[k].Pace, Holds: map[int32]float64{r: level}}, d)
				steps += o.Work
				w.heldAs(ask{p.Rec.Regions[r], -level, true}, k == 0, &doubt.Alternative{P: x, Base: base, Most: all[k].Most}, &o, d)
			}
		}
	}
	return nil
}

// heldAs books what a slow-down comes to, by the translation that answers come from or by another
// one.
func (w *window) heldAs(a ask, first bool, by *doubt.Alternative, o *sim.Outcome, d int64) {
	w.asked[a] = true
	for i := range by.P.Points {
		if _, ok := w.checks[by.P.Points[i].Name]; !ok {
			continue
		}
		q := question{region: a.region, speedup: a.speedup, point: by.P.Points[i].Name, held: a.held}
		if first {
			w.sample(q, &by.Base, o, i, d)
			w.reroute(q, by, o, i)
		} else {
			w.bound(q, by, o, i, d)
		}
	}
}

// reroute books by which part a slow-down leaves more spans of its region for each visit.
func (w *window) reroute(q question, by *doubt.Alternative, o *sim.Outcome, i int) {
	set := by.P.HeldSets[int32(slices.Index(by.P.Rec.Regions, q.region))]
	rate := func(o *sim.Outcome) float64 { return float64(o.Held[set]) / float64(max(1, len(o.Visits[i]))) }
	q.metric = Throughput
	if x, before := w.effects[q], rate(&by.Base); before > 0 {
		x.rerouted = rate(o)/before - 1
		w.effects[q] = x
	}
}
