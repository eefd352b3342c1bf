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

// A trace of an unmodified program does not identify the objects that goroutines wait for: several
// programs have the same trace. Each of them that meets the recording when nothing is changed may
// be the true one, and each has its own answer. The interval covers all of them (partial
// identification). A goroutine takes 3 ms, waits 2 ms for a lock that a refresher has, and takes 1
// ms more, each 6 ms. Its 3 ms take half of the time then, and the lock is not known:
//
//	recorded          |--- 3 ms ---|-- 2 ms --|-|        the refresher ends the wait at 5 ms
//	order kept        |-1.5-|------ 3.5 ms ---|-|        0 % less: it still ends it then
//	waits as long     |-1.5-|-- 2 ms --|-|               25 % less: the wait moves along
//
// TestBounds has this program. The truth may lie outside where no translation tried is like the
// program; margins (doubts.go) have to cover that. Of 24 programs all intervals together cover 95 %
// of the answers (docs/design/0007-replay.md). Where operations are recorded, only what is inferred
// from other waits is bounded.

// disturbed is from which part of the time without a processor on the program that other programs
// leave alone bounds the answer, too: what they took in the recording is in the lengths of what was
// computed, as if it took a processor.
const disturbed = 0.02

// undisturbed is the program with its processors to itself, none where it had them: what it
// computes takes 1-Starved of the time. Its replay is not held against the recording, which it must
// be faster than; only its answer, a ratio of two such replays, bounds. Replays take d ns.
func undisturbed(p *model.Program, w *window, d int64) []doubt.Alternative {
	if w.Starved < disturbed || !p.Rec.Uses(ruleUndisturbed) {
		return nil
	}
	pace := 1 - w.Starved
	return []doubt.Alternative{{P: p, Pace: pace, Base: sim.Simulate(p, sim.Change{Pace: pace}, d)}}
}

// An otherWorld finds the translations that bound the answers of a program, and meet the recording
// within a part.
//   - rec is what they are made from: without the time in which the program stood still if p is so.
//   - whole has the recording with operations inferred that the trace does not show, nil if there
//     are none.
//   - p is the program that answers; plain is the same without inferred objects, perhaps not
//     settled yet, nil if p has completed operations.
//   - within is by which part a replay of nothing changed may miss the recording: MaxDeviation, or
//     as much as p does.
type otherWorld struct {
	rec      *trace.Recording
	whole    *hidden.Completion
	p, plain *model.Program
	w        *window
	within   float64
	found    []doubt.Alternative
}

// otherWorlds are the rules by which they are found, in order: keepOrder settles the plain program
// that unlock copies, and otherLocks raises the part of the time that is waited in a kept order,
// which keepOrder has looked at before. The rule without a name is part of lock_sharding of package
// hidden.
var otherWorlds = []trace.Rule[func(*otherWorld)]{
	{Name: "order_kept", Doc: "goroutines wait for each other in the recorded order", Find: (*otherWorld).keepOrder},
	{Name: "unlocked", Doc: "goroutines wait for locks as long as they did", Find: (*otherWorld).unlock},
	{Name: "contention", Doc: "waits for what others have change with what they have it for", Find: (*otherWorld).contend},
	{Name: "endless_conditions", Doc: "what condition variables count has no end", Find: (*otherWorld).endless},
	{Find: (*otherWorld).otherLocks},
	{Name: "mutual_exclusion", Doc: "spans that never overlap exclude each other", Find: (*otherWorld).exclude},
	{Name: "channel_capacity", Doc: "channels have as much room as was used", Find: (*otherWorld).confine},
	{Name: "token_bucket", Doc: "tokens of a bucket are spilled, or not", Find: (*otherWorld).spill},
}

// unruledWorlds are those of all recordings.
var unruledWorlds = []trace.Rule[func(*otherWorld)]{
	{Name: "conditions_without_rule", Doc: "goroutines wait for condition variables as long as they did, or not at all", Find: (*otherWorld).unsignal},
}

// alternatives returns the translations that bound the answers of p, which meet the recording
// within this part. Where operations are recorded these are the first two, if objects are inferred
// from other waits: for closes, the network, and what has no marks. It may settle plain, and notes
// in w what else the interval depends on. Each takes a translation and a simulation.
func alternatives(rec *trace.Recording, whole *hidden.Completion, p, plain *model.Program, w *window, within float64) []doubt.Alternative {
	if !w.whole { // without the time that is left out
		rec = p.Rec
	}
	x := otherWorld{rec: rec, whole: whole, p: p, plain: plain, w: w, within: within}
	switch {
	case !rec.Operated():
		trace.Apply(rec, &x, otherWorlds)
	case p.Inferred:
		x.plain = infer.Translate(rec)
		trace.Apply(rec, &x, otherWorlds[:2])
	}
	trace.Apply(rec, &x, unruledWorlds)
	return x.found
}

// add simulates a translation with nothing changed, and keeps it if that meets the recording. With
// most, it bounds answers from above alone.
func (x *otherWorld) add(other *model.Program, most bool) {
	// As the program that answers: else the two would differ in this, and not in what is doubted.
	if known, _ := doubt.ShareConnections(other); known != nil {
		other = known
	}
	d := x.rec.End - x.rec.Start
	if base := sim.Simulate(other, sim.Change{}, d); doubt.Misses(other, &base, d) <= x.within {
		x.found = append(x.found, doubt.Alternative{P: other, Base: base, Most: most})
	}
}

// keepOrder has each wait end by the goroutine that ended it in the recording, whatever objects
// were inferred. Of a completed program that is another program only where enough is left to wait
// for in that order. A faster region then brings nothing to a goroutine that waits for another one,
// so that this mostly bounds from below; where the order is better than the one decided anew, from
// above.
func (x *otherWorld) keepOrder() {
	switch {
	case x.w.whole && x.w.ordered > hidden.Incidental:
		x.add(infer.NewProgram(x.rec, false), false)
	case x.w.inferred && !x.w.whole:
		infer.Settle(x.plain, false)
		x.add(x.plain, false)
	}
}

// endless takes away the limit of what condition variables count, such as the places of a bounded
// queue. Where no goroutine has waited for a place, the recording shows no more than how many were
// taken at most; with more of them goroutines never wait for one, which bounds from above.
func (x *otherWorld) endless() {
	if x.p.Limited {
		endless := *x.p.Rec
		endless.Endless = true
		x.add(infer.NewProgram(&endless, true), true)
	}
}

// otherLocks are other numbers of locks at one place: with one lock goroutines wait for each other
// more than with as many as they have objects (lock sharding, lock striping). The number that fits
// best answers, and others that fit about as well bound. That goroutines wait there counts as a
// kept order in any case, for the margin of orderError: which of the locks is taken is chance.
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

// exclude puts a lock around spans that were never open at the same time, though by chance they
// would have been (mutual exclusion): faster goroutines would come to wait there, of which the
// recording has no trace. Where they are apart for another reason, the lock changes nothing.
func (x *otherWorld) exclude() {
	if apart := infer.Excluded(x.p, x.w.inferred); apart != nil {
		x.add(apart, false)
	}
}

// confine gives channels as much room as was used (backpressure): in the faster program senders may
// come to wait for room that was never short. Else channels of unknown capacity have any.
func (x *otherWorld) confine() {
	if tight := x.p.Rewritten(); doubt.Confine(tight) {
		x.add(tight, false)
	}
}

// spill has waits for the tokens of a bucket last as long as they did, as if there were always one.
// The bucket is kept in the window in any case, since it bounds answers by itself: see bound in
// widen.go. Replayed notes whether the translation is among the alternatives.
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

// unlock has waits for locks last as long as they did, which bounds from above: see unlock below.
// It starts from the recorded order, since inferred objects have taken the place of such waits. The
// program of keepOrder is copied, as it is an alternative of its own.
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

// contend has waits for what others have, in an order that is kept since no object was found for
// them, go with what others have it for, which bounds from above: see doubt.Contention.
func (x *otherWorld) contend() {
	if x.w.ordered <= mostOrdered {
		return
	}
	found := doubt.Contentions(x.p.Rec)
	if doubt.Contended(x.p, found) <= mostOrdered {
		return
	}
	other := x.p.Rewritten()
	waits := doubt.Contend(other, found)
	n := len(x.found)
	if x.add(other, true); len(x.found) > n {
		x.found[n].Waits = waits
	}
}

// unsignal has waits for condition variables for which no rule was found last as long as they did,
// or not at all. What ends them in the replay is the recorded signal alone, though the condition
// may be met sooner, or not yet. Neither is held against the recording: the truth is between
// programs with all of these waits, with waits of this length, and with none. TestUnsignaled has a
// program whose condition fits no rule.
func (x *otherWorld) unsignal() {
	unruled := func(_ model.Place, o *model.Op) bool { return o.Reason == model.WaitSignal }
	if x.p.PartWaited(unruled) <= hidden.Incidental {
		return
	}
	for _, lasting := range []bool{true, false} {
		other := x.p.Rewritten()
		loosen(other, lasting, unruled)
		x.found = append(x.found, doubt.Alternative{P: other, Base: sim.Simulate(other, sim.Change{}, x.rec.End-x.rec.Start)})
	}
}

// unlock has goroutines wait for locks and conditions for as long as they did, whichever goroutine
// held them. In the faster program they would wait for longer, since more of them are there at a
// time, but where the lock's holder is faster: there the replay of the program itself shows less.
// It changes p in place, and returns which part of the window the waits of all goroutines take
// together, at most 1.
func unlock(p *model.Program) float64 {
	sites := trace.BySite(p.Rec.Sites, trace.Site.Excludes)
	locks := func(_ model.Place, o *model.Op) bool { return sites[o.Site] }
	waited := p.PartWaited(locks)
	loosen(p, true, locks)
	return waited
}

// loosen has waits for others, those that which reports, last as long as they did, or not at all,
// in place: they become time outside of the program, of no region, which nothing makes shorter.
func loosen(p *model.Program, lasting bool, which func(at model.Place, o *model.Op) bool) {
	given := make([]bool, p.Tokens)
	for at, o := range p.All() {
		if o.Kind != model.OpWait || !which(at, o) {
			continue
		}
		given[o.Arg] = true
		o.Kind, o.Set = model.OpOut, 0
		if !lasting {
			o.D = 0
		}
	}
	doubt.Unheard(p, given)
}

// orderedIn returns which part of the window goroutines spent in waits whose order is kept, all of
// them together, at most 1: waits for locks, channels, condition variables and busy loops that no
// object was found for. It is what a replay takes for granted: met by construction when nothing is
// changed, and perhaps wrong when something is.
func orderedIn(p *model.Program) float64 {
	answered := answeredIn(p)
	return p.PartWaited(func(_ model.Place, o *model.Op) bool {
		return !answered[o.Arg] && (exchanges(o) || o.Reason == trace.WaitMutex || o.Reason == model.WaitBusy || o.Reason == model.WaitSignal)
	})
}

// exchanges reports whether a goroutine waits at a channel.
func exchanges(o *model.Op) bool {
	return o.Reason == trace.WaitSend || o.Reason == trace.WaitReceive || o.Reason == trace.WaitSelect
}

// answeredIn returns which tokens are given by goroutines that serve, in a recording that has each
// operation: what they do for a request is done when it comes to them in the replay, in any order,
// and a wait for that is for the request's own answer. Where operations are inferred, the server
// may be, too, so that no token counts: TestAnswersHaveNoOrder.
func answeredIn(p *model.Program) []bool {
	answered := make([]bool, p.Tokens)
	if p.Rec.Told || !p.Rec.Operated() {
		return answered
	}
	for at, o := range p.All() {
		if o.Kind == model.OpWake && p.Lists[at.List].Serves >= 0 {
			answered[o.Arg] = true
		}
	}
	return answered
}

// bound adds the answer of an alternative at progress point i to the bounds of a question, unless
// the order that it keeps comes to a contradiction: its replay went on only since waits were given
// up, more often than with nothing changed (TestBoundsOfContradiction). O is its replay with the
// change, of d ns, in which regions are faster by a part, or slower with by below 0.
func (w *window) bound(q question, other *doubt.Alternative, o *sim.Outcome, i int, d int64, by float64) {
	if o.Broken > other.Base.Broken || stops(&other.Base, o, i) {
		return
	}
	w.extend(q, &other.Base, o, i, d, func(x *sample, reduction float64) {
		if !other.Most {
			lower(&x.least, reduction)
		}
		if by < 0 && other.Waits != nil { // a slower region gains nothing
			reduction = min(reduction, max(0, x.reduction()))
		}
		raise(&x.most, reduction)
	})
}

// extend has each metric's sample take in another answer: that of the replays base and o, without
// and with the change, at progress point i. Metrics without a sample, and answers that are no
// number, are passed over.
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

// lower and raise put a number in place of one that it lies beyond, or of NaN, which stands for no
// bound yet. Comparisons with NaN are false, hence the negation. V must not be NaN.
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
