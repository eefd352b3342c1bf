package cond

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/hidden"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Quorum waits: a goroutine starts several others, and goes on once k of n have answered by a
// channel: all (results), the first (hedged requests, a race), or two of three (a quorum). A stock
// trace has only which of them answered while it waited. Where it has always gone on when all but a
// fixed number were over, it does so in the replay, whichever they are.
//
//	parent     start |~~~~~~~ receive ~~~~~~~|~ receive ~|     goes on with 1 missing
//	replica 1        ========================.                 4 ms
//	replica 2        ====================================.     5 ms
//	replica 3        ================================================.  7 ms
//
// With replica 3 in 1.5 ms the parent goes on at 4 ms. Kept as recorded it would wait for replica
// 2.
//
// The principle: the answer is one of the last steps of each goroutine, so that its end stands for
// the answer (lastSteps), and the number that is missing when the parent goes on is the same in
// 95 % of the rounds (hidden.Fairness). When it is wrong: a parent that waits for particular
// answers one by one, and works in between (futures), is left as it is (promised); so are answers
// of goroutines that were there before, such as a pool's workers, which package infer has by their
// channels. A quorum whose size differs from round to round has no rule.
//
// TestQuorum has two of three, the first one, all by one channel and each by its own, against what
// the program really does; workloads quorum, results and futures of integration/accuracy do, too.

// An inquiry is what a goroutine has started, and its waits for answers of these: one round.
type inquiry struct {
	list    int32
	started []int32      // lists, in order
	waits   []answerWait // in order, not empty
}

// An answerWait is a wait that a goroutine ended by its answer, one of its last steps.
type answerWait struct {
	op    int32
	waker model.Place
}

// siteOf returns the site of a wait.
func (r *inquiry) siteOf(p *model.Program, wait int) int32 {
	return p.SiteOf(model.Place{List: r.list, Op: r.waits[wait].op})
}

// together groups inquiries by where they wait: at one place in the program, or at places where one
// of them has waited one behind the other. In a round in which only the second answer was late the
// parent waits at the second place alone; it is a round of the same code. Groups have indices of
// all.
func together(p *model.Program, all []inquiry) [][]int32 {
	at := UsedAt(p)
	places := model.NewUnion(len(p.Rec.Sites) + 1)
	for i := range all {
		for n := range all[i].waits {
			places.Join(at[all[i].siteOf(p, n)], at[all[i].siteOf(p, 0)])
		}
	}
	return model.Grouped(model.Numbers(len(all)), func(i int32) int32 { return places.Find(at[all[i].siteOf(p, 0)]) })
}

// promised reports whether goroutines wait for one answer after the other, each from goroutines
// that are created at another place (promises, futures), and do something else in between: which
// comes first matters then.
func promised(p *model.Program, all []inquiry, group []int32) bool {
	of := map[int32]int32{} // by site of a wait: where the one was created that answered
	apart := 0
	for _, i := range group {
		r := &all[i]
		for n, w := range r.waits {
			site, from := r.siteOf(p, n), p.Lists[w.waker.List].Site
			if known, ok := of[site]; ok && known != from {
				return false
			}
			of[site] = from
			if n > 0 && slices.ContainsFunc(p.Lists[r.list].Ops[r.waits[n-1].op+1:w.op], func(o model.Op) bool { return o.Kind != model.OpRun && o.Kind != model.OpWake }) {
				apart++
			}
		}
	}
	return len(of) > 1 && float64(apart) > (1-hidden.Fairness)*float64(len(group))
}

// gatherAnswers finds the waits for answers of goroutines that the waiting one has started itself.
// It takes 20 rounds with a wait (hidden.LeastHandovers). Wakers are by token.
func gatherAnswers(p *model.Program, wakers []model.Place) {
	all := inquiries(p, wakers)
	for _, group := range together(p, all) {
		if len(group) < hidden.LeastHandovers || promised(p, all, group) {
			continue
		}
		// A parent may also start goroutines that answer nothing. Which ones answer shows over all
		// rounds: the places of the code where goroutines that did were created.
		answering := map[int32]bool{} // where goroutines are created that do
		for _, i := range group {
			for _, w := range all[i].waits {
				answering[p.Lists[w.waker.List].Site] = true
			}
		}
		// In the last wait of each round: how many it went on without.
		missing := map[int32]int{} // how often each number has not been over
		several := false
		for _, i := range group {
			r := &all[i]
			r.started = slices.DeleteFunc(r.started, func(c int32) bool { return !answering[p.Lists[c].Site] })
			several = several || len(r.started) > 1
			missing[missingAnswers(p, r, len(r.waits)-1)]++
		}
		// At most one number has 95 %. One goroutine alone is an ordinary wait, which stays.
		for n, times := range missing {
			if several && float64(times) >= hidden.Fairness*float64(len(group)) {
				for _, i := range group {
					gatherInquiry(p, &all[i], n)
				}
				gatherUnseen(p, all, group, n)
			}
		}
	}
}

// inquiries returns the waits for answers, by what was started before them. A round is over with
// the first goroutine that is started behind a wait, or with a wait that fork-join has found.
func inquiries(p *model.Program, wakers []model.Place) (all []inquiry) {
	for l := range p.Lists {
		p.Rec.RestsAt(l)
		now := inquiry{list: int32(l)}
		over := func() {
			if len(now.waits) > 0 {
				all = append(all, now)
			}
			now = inquiry{list: int32(l)}
		}
		for k := range p.Lists[l].Ops {
			switch o := &p.Lists[l].Ops[k]; o.Kind {
			case model.OpSpawn:
				if len(now.waits) > 0 {
					over()
				}
				now.started = append(now.started, o.Arg)
			case model.OpGather:
				over()
			case model.OpWait:
				if w := wakers[o.Arg]; o.Reason == trace.WaitReceive && answersLast(p, w, int32(l)) {
					now.waits = append(now.waits, answerWait{int32(k), w})
				}
			}
		}
		over()
	}
	return all
}

// answersLast reports whether an op is one of the last steps of a goroutine that a list has
// started, in the window. At may be nowhere.
func answersLast(p *model.Program, at model.Place, by int32) bool {
	if at.List < 0 || p.Lists[at.List].Spawned.List != by {
		return false
	}
	l := &p.Lists[at.List]
	return l.Born && l.Ended && l.Ops[len(l.Ops)-1].At <= l.Ops[at.Op].At+lastSteps
}

// missingAnswers returns how many of the goroutines of an inquiry had not answered when a wait
// ended. One that has answered but not ended by then counts as missing, but for the one that ended
// the wait: in the moment between the two, rounds disagree.
func missingAnswers(p *model.Program, r *inquiry, wait int) (n int32) {
	w := r.waits[wait].waker
	for _, c := range r.started {
		l := &p.Lists[c]
		if over := l.Ended && len(l.Ops) > 0 && l.Ops[len(l.Ops)-1].At < p.Op(w).At; c != w.List && !over {
			n++
		}
	}
	return n
}

// gatherInquiry has the last wait of an inquiry end when all but missing are over, and earlier
// waits when as many are as were. Head of OpGather means that another wait of the round follows, so
// that the group stays.
func gatherInquiry(p *model.Program, r *inquiry, missing int32) {
	for _, c := range r.started {
		p.Lists[c].Gathered = true
	}
	for i, w := range r.waits {
		o := p.Op(model.Place{List: r.list, Op: w.op})
		last := i == len(r.waits)-1
		left := missing
		if !last {
			left = missingAnswers(p, r, i)
		}
		wake := p.Op(w.waker)
		wake.Kind, wake.D = model.OpRun, 0
		o.Kind, o.Arg, o.Head = model.OpGather, left, !last
	}
	p.Inferred = true
}

// A landing is the op behind which a goroutine waits for answers: the nth like that since it has
// started the last one that answers. Nth counts from 1; 0 is none.
type landing struct {
	Anchor
	nth int
}

// waitsBehind returns where goroutines wait first for answers, the zero landing if that is not the
// same for most (hidden.Fairness). A wait right behind the last start has no landing: the last
// goroutine is hardly over by then, so that such waits are recorded.
func waitsBehind(p *model.Program, all []inquiry, group []int32) landing {
	times := map[landing]int{}
	for _, i := range group {
		r := &all[i]
		if len(r.started) == 0 {
			continue
		}
		ops := p.Lists[r.list].Ops[:r.waits[0].op]
		k := len(ops) - 1
		// Back over what happens anywhere, to the last landmark before the wait.
		for k >= 0 && (ops[k].Kind == model.OpRun || ops[k].Kind == model.OpWake) {
			k--
		}
		if k < 0 {
			continue
		}
		a, ok := AnchorOf(p, &ops[k])
		if !ok {
			continue
		}
		at := landing{Anchor: a}
		// A loop may pass the same landmark several times: count them from the last start.
		for k := p.Lists[r.started[len(r.started)-1]].Spawned.Op; int(k) < len(ops); k++ {
			if b, ok := AnchorOf(p, &ops[k]); ok && a == b {
				at.nth++
			}
		}
		times[at]++
	}
	for at, n := range times {
		if float64(n) >= hidden.Fairness*float64(len(group)) {
			return at
		}
	}
	return landing{}
}

// gatherUnseen has goroutines wait for answers where all had come before they would have waited, so
// that the recording does not show that they looked. A round in which the parent is slow has no
// wait; with a faster parent it would be the one that waits ("all" of TestQuorum asks for that).
// Where it looks is the landing of the rounds that waited; 20 rounds must agree on it.
func gatherUnseen(p *model.Program, all []inquiry, group []int32, missing int32) {
	behind := landing{}
	if len(group) >= hidden.LeastHandovers {
		behind = waitsBehind(p, all, group)
	}
	if behind.nth == 0 {
		return
	}
	answering, lists := map[int32]bool{}, map[int32]bool{}
	for _, i := range group {
		for _, c := range all[i].started {
			answering[p.Lists[c].Site] = true
		}
	}
	for _, i := range group {
		if l := all[i].list; !lists[l] {
			lists[l] = true
			gatherUnseenIn(p, l, answering, behind, missing)
		}
	}
}

// gatherUnseenIn adds the waits of one list. A round has looked if there is an OpGather behind its
// starts already; else at the landing. The wait takes the place of an op that computes for a
// moment, so that the list keeps its length, and indices that others have of it hold.
func gatherUnseenIn(p *model.Program, list int32, answering map[int32]bool, behind landing, missing int32) {
	var started []int32
	looked, nth := false, 0
	ops := p.Lists[list].Ops
	for k := range ops {
		o := &ops[k]
		switch {
		case o.Kind == model.OpGather:
			looked = true
		case o.Kind == model.OpSpawn && answering[p.Lists[o.Arg].Site]:
			if looked {
				started, looked = nil, false
			}
			started, nth = append(started, o.Arg), 0
		case looked || len(started) == 0:
		default:
			if a, ok := AnchorOf(p, o); !ok || a != behind.Anchor {
				continue
			}
			if nth++; nth < behind.nth {
				continue
			}
			looked = true
			if at := nextStep(ops, k); at >= 0 {
				ops[at].Kind, ops[at].Arg, ops[at].D, ops[at].Late = model.OpGather, missing, 0, -1
				for _, c := range started {
					p.Lists[c].Gathered = true
				}
			}
		}
	}
}

// nextStep returns the op behind another one that computes for a moment, for less than lastSteps,
// before any wait for answers; -1 if there is none. What it computes is lost.
func nextStep(ops []model.Op, k int) int {
	at := -1
	for k++; k < len(ops); k++ {
		switch o := &ops[k]; {
		case o.Kind == model.OpGather:
			return -1
		case o.Kind == model.OpRun && at < 0 && o.D < lastSteps:
			at = k
		case o.Kind != model.OpRun && o.Kind != model.OpWake:
			return at
		}
	}
	return at
}
