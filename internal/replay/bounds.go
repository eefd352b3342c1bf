package replay

import (
	"math"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// disturbed is from which part of the time without a processor on the program that other programs
// leave alone bounds the answer, too: what they took in the recording is in the lengths of what was
// computed, as if it took a processor.
const disturbed = 0.02

// undisturbed is the program with its processors to itself, none where it had them.
func undisturbed(p *model.Program, w *window, d int64) []doubt.Alternative {
	if w.Starved < disturbed || !p.Rec.Uses(ruleUndisturbed) {
		return nil
	}
	pace := 1 - w.Starved
	return []doubt.Alternative{{P: p, Pace: pace, Base: sim.Simulate(p, sim.Change{Pace: pace}, d)}}
}

// An otherWorld finds the translations that bound what a program says, and meet the recording
// within a part.
type otherWorld struct {
	rec      *trace.Recording
	whole    *hidden.Completion
	p, plain *model.Program
	w        *window
	within   float64
	found    []doubt.Alternative
}

// otherWorlds are the rules by which they are found, in order.
var otherWorlds = []trace.Rule[func(*otherWorld)]{
	{Name: "order_kept", Doc: "goroutines wait for each other in the recorded order", Find: (*otherWorld).keepOrder},
	{Name: "endless_conditions", Doc: "what condition variables count has no end", Find: (*otherWorld).endless},
	{Find: (*otherWorld).otherLocks},
	{Name: "mutual_exclusion", Doc: "spans that never overlap exclude each other", Find: (*otherWorld).exclude},
	{Name: "channel_capacity", Doc: "channels have as much room as was used", Find: (*otherWorld).confine},
	{Name: "token_bucket", Doc: "tokens of a bucket are spilled, or not", Find: (*otherWorld).spill},
	{Name: "unlocked", Doc: "goroutines wait for locks as long as they did", Find: (*otherWorld).unlock},
}

// alternatives returns the translations that bound what p says, which meet the recording within
// this part.
func alternatives(rec *trace.Recording, whole *hidden.Completion, p, plain *model.Program, w *window, within float64) []doubt.Alternative {
	if rec.Operated() {
		return nil
	}
	if !w.whole { // without the time that is left out
		rec = p.Rec
	}
	x := otherWorld{rec: rec, whole: whole, p: p, plain: plain, w: w, within: within}
	trace.Apply(rec, &x, otherWorlds)
	return x.found
}

func (x *otherWorld) add(other *model.Program, most bool) {
	if a, ok := alternativeOf(other, x.rec.End-x.rec.Start, most, x.within); ok {
		x.found = append(x.found, a)
	}
}

func (x *otherWorld) keepOrder() {
	switch {
	case x.w.whole && x.w.ordered > hidden.Incidental:
		x.add(infer.NewProgram(x.rec, false), false)
	case x.w.inferred && !x.w.whole:
		infer.Settle(x.plain, false)
		x.add(x.plain, false)
	}
}

func (x *otherWorld) endless() {
	if x.p.Limited {
		endless := *x.p.Rec
		endless.Endless = true
		x.add(infer.NewProgram(&endless, true), true)
	}
}

// otherLocks are other numbers of locks at one place.
func (x *otherWorld) otherLocks() {
	if !x.w.whole {
		return
	}
	x.w.ordered = max(x.w.ordered, x.whole.Several)
	for _, r := range x.whole.Others {
		if r != x.p.Rec {
			x.add(infer.NewProgram(r, true), false)
		}
	}
}

func (x *otherWorld) exclude() {
	if apart := infer.Excluded(x.p, x.w.inferred); apart != nil {
		x.add(apart, false)
	}
}

func (x *otherWorld) confine() {
	if tight := x.p.Rewritten(); doubt.Confine(tight) {
		x.add(tight, false)
	}
}

func (x *otherWorld) spill() {
	b := doubt.FindBuckets(x.p, x.rec)
	if b == nil {
		return
	}
	n := len(x.found)
	x.add(b.Unlimited(x.rec, x.w.inferred), false)
	if b.Replayed = len(x.found) > n; b.Replayed {
		x.found[n].Slower = b.Slower
	}
	x.w.buckets = b
}

func (x *otherWorld) unlock() {
	plain := x.plain
	if plain == nil || !plain.Settled {
		plain = infer.NewProgram(x.p.Rec, false)
	} else {
		plain = plain.Rewritten()
	}
	if waited := unlock(plain); waited > hidden.Incidental {
		x.w.ordered = max(x.w.ordered, waited)
		x.add(plain, true)
	}
}

// alternativeOf replays another translation for so long, and reports whether it meets the recording
// within this part.
func alternativeOf(other *model.Program, d int64, most bool, within float64) (a doubt.Alternative, ok bool) {
	if known, _ := doubt.ShareConnections(other); known != nil {
		other = known
	}
	base := sim.Simulate(other, sim.Change{}, d)
	ok = doubt.Misses(other, &base, d) <= within
	return doubt.Alternative{P: other, Base: base, Most: most}, ok
}

// unlock has goroutines wait for locks and conditions for as long as they did, whichever goroutine
// held them. In the faster program they would wait for longer, since more of them are there at a
// time, but where the lock's holder is faster. It returns which part of the window that takes, at
// most 1.
func unlock(p *model.Program) float64 {
	var total int64
	given := make([]bool, p.Tokens)
	locks := map[int32]bool{}
	isLock := func(site int32) bool {
		is, known := locks[site]
		if !known {
			is = p.Rec.Sites[site].Excludes()
			locks[site] = is
		}
		return is
	}
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpWait && isLock(o.Site) {
				total += o.D
				given[o.Arg] = true
				o.Kind, o.Set = model.OpOut, 0
			}
		}
	}
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpWake && given[o.Arg] {
				o.Kind, o.D = model.OpRun, 0
			}
		}
	}
	return min(1, float64(total)/float64(max(1, p.Rec.End-p.Rec.Start)))
}

// orderedIn returns which part of the window the goroutines of spans spent in waits whose order is
// kept, at most 1.
func orderedIn(p *model.Program) float64 {
	var total int64
	answered := answeredIn(p)
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpWait && !answered[o.Arg] && (o.Reason == trace.WaitMutex || o.Reason == trace.WaitSend || o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect || o.Reason == model.WaitBusy) {
				total += o.D
			}
		}
	}
	return min(1, float64(total)/float64(max(1, p.Rec.End-p.Rec.Start)))
}

// answeredIn returns which tokens are given by goroutines that serve, in a recording that has each
// operation: what they do for a request is done when it comes to them in the replay, in any order,
// and a wait for that is for the request's own answer.
func answeredIn(p *model.Program) []bool {
	answered := make([]bool, p.Tokens)
	if p.Rec.Told || !p.Rec.Operated() {
		return answered
	}
	for l := range p.Lists {
		if p.Lists[l].Serves < 0 {
			continue
		}
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpWake {
				answered[o.Arg] = true
			}
		}
	}
	return answered
}

// bound adds what an alternative says, unless the order that it keeps comes to a contradiction.
func (w *window) bound(q question, other *doubt.Alternative, o *sim.Outcome, i int, d int64) {
	if o.Broken > other.Base.Broken {
		return
	}
	w.extend(q, &other.Base, o, i, d, func(x *sample, reduction float64) {
		if !other.Most {
			lower(&x.least, reduction)
		}
		raise(&x.most, reduction)
	})
}

// extend has each metric's sample take in another answer.
func (w *window) extend(q question, base, o *sim.Outcome, i int, d int64, take func(x *sample, reduction float64)) {
	each := func(m Metric, reduction float64) {
		q.metric = m
		if x, ok := w.effects[q]; ok && !math.IsNaN(reduction) {
			take(&x, reduction)
			w.effects[q] = x
		}
	}
	each(Throughput, 1-doubt.Period(o.Visits[i], d)/doubt.Period(base.Visits[i], d))
	before, after := base.Settled(i), o.Settled(i)
	for _, l := range quantiles {
		each(l.metric, 1-trace.Quantile(after, l.at)/trace.Quantile(before, l.at))
	}
}

// lower and raise put a number in place of one that it lies beyond, or of NaN.
func lower(x *float64, v float64) {
	if !(*x < v) {
		*x = v
	}
}

func raise(x *float64, v float64) {
	if !(*x > v) {
		*x = v
	}
}
