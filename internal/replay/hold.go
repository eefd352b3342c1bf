package replay

import (
	"context"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// An experiment of slow-downs holds the goroutine that ends a span of a region for a part of the
// span's own time, and measures what that costs (docs/design/0010-slow-down.md). To confirm an
// answer, or to contradict it, the very same is simulated here: not a region that is slower, which
// holds its locks for longer, too. With an own time of 2 ms, and a level of 0.1:
//
//	recorded   Lock  [span, 2 ms]  Unlock  visit
//	held       Lock  [span, 2 ms] +0.2 ms  Unlock  visit     the lock is held for longer
//	recorded   Lock  [span, 2 ms  Unlock]  visit
//	held       Lock  [span, 2 ms  Unlock] +0.2 ms  visit     the lock is not
//
// TestHold has both, with an elasticity of 1 and of 0. What differs from the experiment, such as a
// sleep that takes longer than asked for, is not simulated.

// holding returns the program with holds behind the spans of regions, numbers of its recording. P
// is not changed; lists are shared. Each region has a set of its own for what is held, whose factor
// is 0 unless a [sim.Change] has holds: one program serves all levels, and nothing changed.
func holding(p *model.Program, regions []int32) *model.Program {
	x := *p
	x.Compiled, x.Spare = nil, nil
	x.Sets, x.Holds = slices.Clip(p.Sets), map[int32]model.Holdback{}
	sets := map[int32]uint16{}
	for _, r := range regions {
		if len(x.Sets) < 1<<16-1 { // an op has the number of its set in 16 bits
			sets[r] = uint16(len(x.Sets))
			x.Sets = append(x.Sets, nil)
		}
	}
	x.HeldSets = sets
	times, rest := ownTimes(p)
	for span, t := range times {
		r := p.Rec.Spans[span].Region
		if set, held := sets[r]; held {
			if t == nil { // the mean of the spans of which that is not known
				t = &model.Own{Run: rest[r].Run / rest[r].spans, Out: rest[r].Out / rest[r].spans}
			}
			x.Holds[span] = model.Holdback{Set: set, Own: *t}
		}
	}
	return &x
}

// left is own time in a region of no span that is known, ns, and the number of spans that it may be
// of: spans of the region that began before the window.
type left struct {
	model.Own
	spans int64
}

// An openSpan is open on a goroutine, and its own time until now, ns: the time in which no later
// span was open there. Of a query of 3 ms in a request of 5 ms, the query has 3 and the request has
// 2.
type openSpan struct {
	span int32
	model.Own
}

// ownTimes returns the own time of each span that ends, nil for one that began before the window:
// what is left of its region is theirs. A span that another goroutine ends has what the one that
// began it did until then. The own time is what a faster region has less of: computing, and waits
// for what is outside of the program. Waits for other goroutines are not part of it. Rest is by
// region; it takes time in proportion to the ops (TestOwnTimes).
func ownTimes(p *model.Program) (of map[int32]*model.Own, rest []left) {
	of, rest = map[int32]*model.Own{}, make([]left, len(p.Rec.Regions))
	elsewhere := endedElsewhere(p)
	for i := range p.Lists {
		p.Rec.Rests()
		var open []*openSpan // the latest last
		for k := range p.Lists[i].Ops {
			o := &p.Lists[i].Ops[k]
			if len(elsewhere) > 0 {
				open = slices.DeleteFunc(open, func(x *openSpan) bool {
					at, ok := elsewhere[x.span]
					return ok && at < o.At
				})
			}
			switch o.Kind {
			case model.OpOpen:
				x := &openSpan{span: o.Arg}
				open = append(open, x)
				if _, ok := elsewhere[o.Arg]; ok {
					of[o.Arg] = &x.Own
				}
			case model.OpClose:
				if n := slices.IndexFunc(open, func(x *openSpan) bool { return x.span == o.Arg }); n >= 0 {
					of[o.Arg] = &open[n].Own
					open = slices.Delete(open, n, n+1)
				} else if _, ok := elsewhere[o.Arg]; !ok {
					of[o.Arg] = nil
					rest[p.Rec.Spans[o.Arg].Region].spans++
				}
			case model.OpRun, model.OpOut, model.OpSend:
				switch set := p.Sets[o.Set]; {
				case len(set) > 0 && int(set[0]) >= len(p.Rec.Regions): // a wait for others, see doubt.Contend
				case len(open) > 0: // of the innermost one
					add(&open[len(open)-1].Own, o)
				case len(set) > 0: // or of one that began before the window
					add(&rest[set[0]].Own, o)
				}
			}
		}
	}
	return of, rest
}

// endedElsewhere returns when spans end, ns of the recording's clock, that one goroutine begins in
// the window and another one ends.
func endedElsewhere(p *model.Program) map[int32]int64 {
	began, all := map[int32]int32{}, map[int32]int64{}
	for at, o := range p.All() {
		if o.Kind == model.OpOpen {
			began[o.Arg] = at.List
		}
	}
	for at, o := range p.All() {
		if o.Kind != model.OpClose {
			continue
		}
		if list, ok := began[o.Arg]; ok && list != at.List {
			all[o.Arg] = o.At
		}
	}
	return all
}

// add adds an op: experiments hold goroutines by computing and by sleeping in the proportion of the
// two.
func add(t *model.Own, o *model.Op) {
	if o.Kind == model.OpRun {
		t.Run += o.D
	} else {
		t.Out += o.D
	}
}

// Hold has further windows be asked what slow-downs of these regions would cost, by so large parts
// of their own time, each above 0, as [Answer.Held]. It replaces what was asked before; no regions
// end it. Windows so far keep their answers.
func (s *Study) Hold(levels []float64, regions []trace.Region) { s.levels, s.held = levels, regions }

// hold simulates slow-downs in a window, in the program that answers and in its alternatives, as
// far as is left of the steps that may be taken: steps have been, and a slow-down that is begun is
// simulated in all (TestHoldHasItsBounds). Other answers do not depend on it
// (TestHoldLeavesOtherAnswers).
func (s *Study) hold(ctx context.Context, w *window, p *model.Program, others []doubt.Alternative, steps int) error {
	// Regions that this window has not seen are not asked about.
	var regions []int32
	for _, r := range s.held {
		if i := slices.Index(p.Rec.Regions, r); i >= 0 {
			regions = append(regions, int32(i))
		}
	}
	if len(regions) == 0 {
		return nil
	}
	// The first program gives the samples, which the others then bound: without a sample there is
	// nothing to be bounded. Each is held against itself with holds of no length, which have the
	// same instructions.
	d := p.Rec.End - p.Rec.Start
	all := append([]doubt.Alternative{{P: p}}, others...)
	for k := range all {
		if steps >= s.config.Steps {
			return nil
		}
		all[k].P = holding(all[k].P, regions)
		all[k].Base = sim.Simulate(all[k].P, sim.Change{Pace: all[k].Pace}, d)
		steps += all[k].Base.Work
	}
	for _, level := range s.levels {
		for _, r := range regions {
			if steps >= s.config.Steps {
				return nil
			}
			a := ask{p.Rec.Regions[r], -level, true}
			for k := range all {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				o := sim.Simulate(all[k].P, sim.Change{Pace: all[k].Pace, Holds: map[int32]float64{r: level}}, d)
				steps += o.Work
				w.heldAs(a, k == 0, &all[k], &o, d)
			}
			for point := range w.checks {
				bound(w.buckets, w, question{ask: a, point: point}, a.speedup)
			}
		}
	}
	return nil
}

// heldAs books what a slow-down comes to in o, by the translation that answers come from, if first,
// or by another one. The speed-up of the question is negative.
func (w *window) heldAs(a ask, first bool, by *doubt.Alternative, o *sim.Outcome, d int64) {
	w.asked[a] = true
	for i, point := range w.checked(by.P) {
		q := question{ask: a, point: point}
		if first {
			w.sample(q, &by.Base, o, i, d)
			w.reroute(q, by, o, i)
		} else {
			w.bound(q, by, o, i, d, a.speedup)
		}
	}
}

// reroute books by which part a slow-down leaves more spans of its region for each visit (visit
// ratio: Denning and Buzen, 1978). It is not 0 where the program chooses by its state, as with the
// least loaded worker, or where the goroutine that is held works on its own and falls behind
// (TestHoldReroutes). Then an experiment and its simulation may differ in the way that work takes.
func (w *window) reroute(q question, by *doubt.Alternative, o *sim.Outcome, i int) {
	set := by.P.HeldSets[int32(slices.Index(by.P.Rec.Regions, q.region))]
	rate := func(o *sim.Outcome) float64 { return float64(o.Held[set]) / float64(max(1, len(o.Visits[i]))) }
	q.metric = Throughput
	if x, before := w.effects[q], rate(&by.Base); before > 0 {
		x.rerouted = rate(o)/before - 1
		w.effects[q] = x
	}
}
