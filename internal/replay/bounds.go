package replay

import (
	"math"
	"strings"
)

// Where it is not known of which object waits are, the truth is bounded from both sides by other translations of the recording.

// An alternative is another translation of the same recording, and its replay of nothing changed.
type alternative struct {
	p    *program
	base outcome
	// most means that it bounds the truth only from above, and slower that it bounds only what slower regions do.
	most, slower bool
	// pace is that of computing where other programs leave the processors alone, of the same translation; 0 for that of the recording.
	pace float64
}

// disturbed is from which part of the time without a processor on the program that other programs leave alone bounds the answer, too: what
// they took in the recording is in the lengths of what was computed, as if it took a processor.
const disturbed = 0.02

// undisturbed is the program with its processors to itself, none where it had them.
func (p *program) undisturbed(w *window, d int64) []alternative {
	if w.starved < disturbed {
		return nil
	}
	pace := 1 - w.starved
	return []alternative{{p: p, pace: pace, base: simulate(p, change{pace: pace}, d)}}
}

// alternatives returns the translations that bound what p says, which meet the recording within this part.
func alternatives(rec *Recording, whole *completion, p, plain *program, w *window, within float64) []alternative {
	if rec.operated() {
		return nil
	}
	if !w.whole { // without the time that is left out
		rec = p.rec
	}
	var all []alternative
	add := func(other *program, most bool) {
		if a, ok := alternativeOf(other, rec.End-rec.Start, most, within); ok {
			all = append(all, a)
		}
	}
	switch {
	case w.whole && w.ordered > incidental:
		add(newProgram(rec, false), false)
	case w.inferred && !w.whole:
		plain.settle(false)
		add(plain, false)
	}
	if p.limited {
		endless := *p.rec
		endless.endless = true
		add(newProgram(&endless, true), true)
	}
	if w.whole {
		w.ordered = max(w.ordered, whole.several)
		for _, r := range whole.others {
			if r != p.rec {
				add(newProgram(r, true), false)
			}
		}
	}
	if apart := p.excluded(w.inferred); apart != nil {
		add(apart, false)
	}
	if tight := p.rewritten(); tight.confine() {
		add(tight, false)
	}
	if b := p.buckets(rec); b != nil {
		n := len(all)
		add(b.unlimited(rec, w.inferred), false)
		if b.replayed = len(all) > n; b.replayed {
			all[n].slower = b.slower
		}
		w.buckets = b
	}
	if plain == nil {
		plain = newProgram(p.rec, false)
	} else {
		plain = plain.rewritten()
	}
	if waited := plain.unlock(); waited > incidental {
		w.ordered = max(w.ordered, waited)
		add(plain, true)
	}
	return all
}

// alternativeOf replays another translation for so long, and reports whether it meets the recording within this part.
func alternativeOf(other *program, d int64, most bool, within float64) (a alternative, ok bool) {
	if known, _ := other.shareConnections(); known != nil {
		other = known
	}
	base := simulate(other, change{}, d)
	ok = other.misses(&base, d) <= within
	return alternative{p: other, base: base, most: most}, ok
}

// unlock has goroutines wait for locks and conditions for as long as they did, whichever goroutine held them. In the faster program they would wait
// for longer, since more of them are there at a time, but where the lock's holder is faster. It returns which part of the window
// that takes, at most 1.
func (p *program) unlock() float64 {
	var total int64
	given := make([]bool, p.tokens)
	locks := map[int32]bool{}
	isLock := func(site int32) bool {
		is, known := locks[site]
		if !known {
			is = p.rec.sites[site].excludes()
			locks[site] = is
		}
		return is
	}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opWait && isLock(o.site) {
				total += o.d
				given[o.arg] = true
				o.kind, o.set = opOut, 0
			}
		}
	}
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opWake && given[o.arg] {
				o.kind, o.d = opRun, 0
			}
		}
	}
	return min(1, float64(total)/float64(max(1, p.rec.End-p.rec.Start)))
}

// excludes reports whether a goroutine waits there for a lock or a condition variable.
func (s Site) excludes() bool {
	for _, f := range s.Frames {
		if strings.HasPrefix(f.Func, "sync.(*Mutex).") || strings.HasPrefix(f.Func, "sync.(*RWMutex).") || strings.HasPrefix(f.Func, "sync.(*Cond).") {
			return true
		}
	}
	return false
}

// ordered returns which part of the window the goroutines of spans spent in waits whose order is kept, at most 1.
func (p *program) ordered() float64 {
	var total int64
	answered := p.answered()
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opWait && !answered[o.arg] && (o.reason == waitMutex || o.reason == waitSend || o.reason == waitReceive || o.reason == waitSelect || o.reason == waitBusy) {
				total += o.d
			}
		}
	}
	return min(1, float64(total)/float64(max(1, p.rec.End-p.rec.Start)))
}

// answered returns which tokens are given by goroutines that serve, in a recording that has each operation: what they do for a request is done when
// it comes to them in the replay, in any order, and a wait for that is for the request's own answer.
func (p *program) answered() []bool {
	answered := make([]bool, p.tokens)
	if p.rec.told || !p.rec.operated() {
		return answered
	}
	for l := range p.lists {
		if p.lists[l].serves < 0 {
			continue
		}
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opWake {
				answered[o.arg] = true
			}
		}
	}
	return answered
}

// bound adds what an alternative says, unless the order that it keeps comes to a contradiction.
func (w *window) bound(q question, other *alternative, o *outcome, i int, d int64) {
	if o.broken > other.base.broken {
		return
	}
	w.extend(q, &other.base, o, i, d, func(x *sample, reduction float64) {
		if !other.most {
			lower(&x.least, reduction)
		}
		raise(&x.most, reduction)
	})
}

// extend has each metric's sample take in another answer.
func (w *window) extend(q question, base, o *outcome, i int, d int64, take func(x *sample, reduction float64)) {
	each := func(m Metric, reduction float64) {
		q.metric = m
		if x, ok := w.effects[q]; ok && !math.IsNaN(reduction) {
			take(&x, reduction)
			w.effects[q] = x
		}
	}
	each(Throughput, 1-period(o.visits[i], d)/period(base.visits[i], d))
	before, after := base.settled(i), o.settled(i)
	for _, l := range quantiles {
		each(l.metric, 1-quantile(after, l.at)/quantile(before, l.at))
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
