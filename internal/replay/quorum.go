package replay

import "slices"

// A goroutine may start several others and go on once some of them have answered by a channel: all, the first, or two of three (a quorum). A stock
// trace has only which of them answered while it waited. Where it has always gone on when all but a fixed number were over, it does so in the
// replay, whichever they are.

// An inquiry is what a goroutine has started, and its waits for answers of these.
type inquiry struct {
	list    int32
	started []int32 // lists
	waits   []answerWait
}

// An answerWait is a wait that a goroutine ended by its answer, one of its last steps.
type answerWait struct {
	op    int32
	waker place
}

// siteOf returns the site of a wait.
func (r *inquiry) siteOf(p *program, wait int) int32 {
	return p.siteOf(place{r.list, r.waits[wait].op})
}

// together groups inquiries by where they wait: those at one place in the program, and at places where one of them has waited one behind the other.
func (p *program) together(all []inquiry) [][]int32 {
	at := p.usedAt()
	places := newUnion(len(p.rec.sites) + 1)
	for i := range all {
		for n := range all[i].waits {
			places.join(at[all[i].siteOf(p, n)], at[all[i].siteOf(p, 0)])
		}
	}
	return grouped(len(all), func(i int32) int32 { return places.find(at[all[i].siteOf(p, 0)]) })
}

// promised reports whether goroutines wait for one answer after the other, each from goroutines that are created at another place (promises, futures), and
// do something else in between: which comes first matters then.
func (p *program) promised(all []inquiry, group []int32) bool {
	of := map[int32]int32{} // by site of a wait: where the one was created that answered
	apart := 0
	for _, i := range group {
		r := &all[i]
		for n, w := range r.waits {
			site, from := r.siteOf(p, n), p.lists[w.waker.list].site
			if known, ok := of[site]; ok && known != from {
				return false
			}
			of[site] = from
			if n > 0 && slices.ContainsFunc(p.lists[r.list].ops[r.waits[n-1].op+1:w.op], func(o op) bool { return o.kind != opRun && o.kind != opWake }) {
				apart++
			}
		}
	}
	return len(of) > 1 && float64(apart) > (1-fairness)*float64(len(group))
}

// gatherAnswers finds the waits for answers of goroutines that the waiting one has started itself.
func (p *program) gatherAnswers(wakers []place) {
	all := p.inquiries(wakers)
	for _, group := range p.together(all) {
		if len(group) < leastHandovers || p.promised(all, group) {
			continue
		}
		answering := map[int32]bool{} // where goroutines are created that do
		for _, i := range group {
			for _, w := range all[i].waits {
				answering[p.lists[w.waker.list].site] = true
			}
		}
		missing := map[int32]int{} // how often each number has not been over
		several := false
		for _, i := range group {
			r := &all[i]
			r.started = slices.DeleteFunc(r.started, func(c int32) bool { return !answering[p.lists[c].site] })
			several = several || len(r.started) > 1
			missing[p.missing(r, len(r.waits)-1)]++
		}
		for n, times := range missing {
			if several && float64(times) >= fairness*float64(len(group)) {
				for _, i := range group {
					p.gatherInquiry(&all[i], n)
				}
				p.gatherUnseen(all, group, n)
			}
		}
	}
}

// inquiries returns the waits for answers, by what was started before them.
func (p *program) inquiries(wakers []place) (all []inquiry) {
	for l := range p.lists {
		p.rec.restsAt(l)
		now := inquiry{list: int32(l)}
		over := func() {
			if len(now.waits) > 0 {
				all = append(all, now)
			}
			now = inquiry{list: int32(l)}
		}
		for k := range p.lists[l].ops {
			switch o := &p.lists[l].ops[k]; o.kind {
			case opSpawn:
				if len(now.waits) > 0 {
					over()
				}
				now.started = append(now.started, o.arg)
			case opGather:
				over()
			case opWait:
				if w := wakers[o.arg]; o.reason == waitReceive && p.answersLast(w, int32(l)) {
					now.waits = append(now.waits, answerWait{int32(k), w})
				}
			}
		}
		over()
	}
	return all
}

// answersLast reports whether an op is one of the last steps of a goroutine that a list has started.
func (p *program) answersLast(at place, by int32) bool {
	if at.list < 0 || p.lists[at.list].spawned.list != by {
		return false
	}
	l := &p.lists[at.list]
	return l.born && l.ended && l.ops[len(l.ops)-1].at <= l.ops[at.op].at+lastSteps
}

// missing returns how many of the goroutines of an inquiry had not answered when a wait ended.
func (p *program) missing(r *inquiry, wait int) (n int32) {
	w := r.waits[wait].waker
	for _, c := range r.started {
		l := &p.lists[c]
		if over := l.ended && len(l.ops) > 0 && l.ops[len(l.ops)-1].at < p.op(w).at; c != w.list && !over {
			n++
		}
	}
	return n
}

// gatherInquiry has the last wait of an inquiry end when all but missing are over, and earlier waits when as many are as were.
func (p *program) gatherInquiry(r *inquiry, missing int32) {
	for _, c := range r.started {
		p.lists[c].gathered = true
	}
	for i, w := range r.waits {
		o := p.op(place{r.list, w.op})
		last := i == len(r.waits)-1
		left := missing
		if !last {
			left = p.missing(r, i)
		}
		wake := p.op(w.waker)
		wake.kind, wake.d = opRun, 0
		o.kind, o.arg, o.head = opGather, left, !last
	}
	p.inferred = true
}

// A landing is the op behind which a goroutine waits for answers: the nth like that since it has started the last one that answers.
type landing struct {
	anchor
	nth int
}

// waitsBehind returns where goroutines wait first for answers, the zero landing if that is not the same for most.
func (p *program) waitsBehind(all []inquiry, group []int32) landing {
	times := map[landing]int{}
	for _, i := range group {
		r := &all[i]
		if len(r.started) == 0 {
			continue
		}
		ops := p.lists[r.list].ops[:r.waits[0].op]
		k := len(ops) - 1
		for k >= 0 && (ops[k].kind == opRun || ops[k].kind == opWake) {
			k--
		}
		if k < 0 {
			continue
		}
		a, ok := p.anchorOf(&ops[k])
		if !ok {
			continue
		}
		at := landing{anchor: a}
		for k := p.lists[r.started[len(r.started)-1]].spawned.op; int(k) < len(ops); k++ {
			if b, ok := p.anchorOf(&ops[k]); ok && a == b {
				at.nth++
			}
		}
		times[at]++
	}
	for at, n := range times {
		if float64(n) >= fairness*float64(len(group)) {
			return at
		}
	}
	return landing{}
}

// gatherUnseen has goroutines wait for answers where all had come before they would have waited, so that the recording does not show that they looked.
func (p *program) gatherUnseen(all []inquiry, group []int32, missing int32) {
	behind := landing{}
	if len(group) >= leastHandovers {
		behind = p.waitsBehind(all, group)
	}
	if behind.nth == 0 {
		return
	}
	answering, lists := map[int32]bool{}, map[int32]bool{}
	for _, i := range group {
		for _, c := range all[i].started {
			answering[p.lists[c].site] = true
		}
	}
	for _, i := range group {
		if l := all[i].list; !lists[l] {
			lists[l] = true
			p.gatherUnseenIn(l, answering, behind, missing)
		}
	}
}

func (p *program) gatherUnseenIn(list int32, answering map[int32]bool, behind landing, missing int32) {
	var started []int32
	looked, nth := false, 0
	ops := p.lists[list].ops
	for k := range ops {
		o := &ops[k]
		switch {
		case o.kind == opGather:
			looked = true
		case o.kind == opSpawn && answering[p.lists[o.arg].site]:
			if looked {
				started, looked = nil, false
			}
			started, nth = append(started, o.arg), 0
		case looked || len(started) == 0:
		default:
			if a, ok := p.anchorOf(o); !ok || a != behind.anchor {
				continue
			}
			if nth++; nth < behind.nth {
				continue
			}
			looked = true
			if at := nextStep(ops, k); at >= 0 {
				ops[at].kind, ops[at].arg, ops[at].d, ops[at].late = opGather, missing, 0, -1
				for _, c := range started {
					p.lists[c].gathered = true
				}
			}
		}
	}
}

// nextStep returns the op behind another one that computes for a moment, before any wait for answers; -1 if there is none.
func nextStep(ops []op, k int) int {
	at := -1
	for k++; k < len(ops); k++ {
		switch o := &ops[k]; {
		case o.kind == opGather:
			return -1
		case o.kind == opRun && at < 0 && o.d < lastSteps:
			at = k
		case o.kind != opRun && o.kind != opWake:
			return at
		}
	}
	return at
}
