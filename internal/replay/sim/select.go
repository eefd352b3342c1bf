package sim

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A select statement is a race: an answer against a timer (timeout), one queue against another,
// work against a shutdown. A faster region makes another side win, and then the program goes on
// another way, which a list of ops does not have. But the goroutine may have gone that way another
// time. A client that waits for an answer for 5 ms at most, in ms:
//
//	choice 1, recorded   answer at 3: use it
//	choice 2, recorded   timer at 5: ask another server
//	choice 2, server 50 % faster   the answer comes at 3.5: go on as behind choice 1, until what
//	                               it does again and again is over, then behind choice 2 again
//
// Choice 1 is an example for choice 2: a choice of the same statement that ended so, behind the
// same past and with the same regions open (model.Choice.Like). Package infer finds them, in
// choices.go. In TestAnElementBeforeTheTimerIsTaken half the work brings 50 %, where the recorded
// branches bring 22. Without an example the statement ends as it did in the recording, however long
// that takes, and is counted as strayed: see MostStrayed. TestAnEndWithoutAnExampleIsCounted has
// that.
//
// Like runtime/select.go (selectgo), a statement takes any of the cases that are ready, each with
// the same chance, and waits in the queues of all channels otherwise. A timer that is over is
// ready, too (TestATimerThatIsOverIsReady). Cases that send are not decided anew: package infer
// leaves them out of Choice.Cases.

// choose comes to a select statement, or reports that the runner must wait there. It comes a second
// time to one that has waited: then it has been decided what ended that, see runner.got.
func (s *Simulation) choose(i, proc int32, o *instruction) bool {
	r := &s.runners[i]
	c := &s.P.Choices[o.arg]
	if r.chooses {
		r.chooses, r.granted = false, false
		s.goOnAs(r, o.arg, r.got)
		return true
	}
	// The limit of a row of statements, such as a batch that is collected for 5 ms, runs from the
	// first of them.
	s.Out.choices++
	if len(c.Cases) == 0 {
		s.Out.untold++
	}
	if len(c.Past) == 0 {
		r.burst = s.now
	}
	// Pass 1: a case that is ready. An element that the list cannot go on with stays where it is.
	strays := false
	ready, n := s.pick(c.Cases, func(object int32) bool {
		goesOn := s.goesOn(o.arg, object)
		strays = strays || !goesOn
		return goesOn
	})
	if n == 0 && strays {
		s.Out.strayed++
	}
	// The timer of a row is one case more once its time is over (maybeRunChan).
	left, row := s.left(r, o)
	if row && left <= 0 && s.goesOn(o.arg, trace.None) && s.draw(n+1) == 0 {
		s.goOnAs(r, o.arg, trace.None)
		return true
	}
	if n > 0 {
		r.element, _ = s.receive(s.channel(ready), proc)
		s.goOnAs(r, o.arg, ready)
		return true
	}
	// Pass 2: wait for all cases that there are examples of. Others cannot end it.
	for _, object := range c.Cases {
		if s.goesOn(o.arg, object) {
			s.channel(object).others.push(i)
		}
	}
	// The timer, if it is known: what is left of the limit of a row; the recorded wait, where a
	// timer ended it; else the usual limit of the statement, and no less than it did not take.
	end := &s.code[s.x.ends[o.arg]]
	// One of a statement before may be planned still, and must not end this one.
	r.chooses, r.late, r.due = true, int64(end.late), -1
	switch x := &s.P.Statements[c.Statement]; {
	case row:
		s.backIn(i, left)
	case c.Object == trace.None:
		s.backIn(i, s.shortened(end))
	case x.Limit > 0:
		s.backIn(i, s.scaled(max(x.Limit, c.Untimed), o.set))
	}
	return false
}

// left returns what is left of the limit of a row of select statements, ns, and whether the
// statement is of a row that has begun.
func (s *Simulation) left(r *runner, o *instruction) (d int64, row bool) {
	c := &s.P.Choices[o.arg]
	x := &s.P.Statements[c.Statement]
	return s.scaled(max(x.Limit, c.Untimed), o.set) - (s.now - r.burst), x.Whole && len(c.Past) > 0
}

// hasElement reports whether a receive from a channel need not wait: an element is in its buffer,
// or a sender waits.
func (s *Simulation) hasElement(object int32) bool {
	b := s.channel(object)
	return b.count > 0 || b.queue.len() > 0
}

// draw returns a number below n, each with nearly the same chance. It is a linear congruential
// generator with Knuth's constants for MMIX, of which the upper bits are used, as the lower ones
// repeat soon. It begins with 0 in each simulation. N must not be 0; 1 takes no number, so that
// statements with one ready case change no other choice.
func (s *Simulation) draw(n uint64) uint64 {
	if n == 1 {
		return 0
	}
	s.random = s.random*6364136223846793005 + 1442695040888963407
	return (s.random >> 33) % n
}

// backIn has a runner come back after d ns, 0 for less, if nothing else ends its wait. It cannot be
// called off: back compares with the time that is due, which the next wait overwrites.
func (s *Simulation) backIn(i int32, d int64) {
	s.runners[i].due = s.now + max(0, d)
	s.at(d, happenBack, i)
}

// back ends a wait for something outside, or for a timer of a select statement that has not ended.
// It does nothing where the wait is over, and the runner waits for a later time.
func (s *Simulation) back(i int32) {
	r := &s.runners[i]
	switch {
	case r.due != s.now:
	case r.state == away:
		s.ready(i, -1)
	case r.chooses && r.state == blocked && !r.granted:
		o := &s.code[r.pc]
		c := &s.P.Choices[o.arg]
		if !s.goesOn(o.arg, trace.None) {
			s.Out.strayed++
			return
		}
		if slices.ContainsFunc(c.Cases, s.hasElement) { // that the list cannot go on with
			s.Out.strayed++
		}
		// Pass 3: leave the queues.
		for _, object := range c.Cases {
			s.channel(object).others.remove(i)
		}
		r.got = trace.None
		s.grant(i, -1)
	}
}

// chosen ends the wait of a runner for one of several channels, if it waits so, by an element of an
// object, whose queue it has left. It leaves the queues of the others, and notes which one it was
// by the number that its own list has for it.
func (s *Simulation) chosen(i int32, b *object) {
	r := &s.runners[i]
	var objects []int32
	switch {
	case r.chooses:
		objects = s.P.Choices[s.code[r.pc].arg].Cases
	case r.attends:
		objects, r.attends = s.P.Stations[s.code[r.pc].ref].Objects, false
	}
	for _, object := range objects {
		if other := s.channel(object); other == b {
			r.got = object
		} else {
			other.others.remove(i)
		}
	}
}

// examples returns the choices of a list that ended by an object, or a timer, as choice i may: nil
// where there are none, where the list must stay where it is (Statement.Decides), or where it is
// not known where an answer goes (Blind).
func examples(p *model.Program, i, object int32) []int32 {
	c := &p.Choices[i]
	s := &p.Statements[c.Statement]
	if !s.Decides || c.Blind {
		return nil
	}
	return s.Like[c.Like(p, c.Outcome(p, object))]
}

// examples returns the same, which compile has looked up before, as a simulation asks each time
// that it comes to a statement. It is linear in the cases.
func (x *executable) examples(p *model.Program, i, object int32) []int32 {
	cases := p.Choices[i].Cases
	k := slices.Index(cases, object)
	if k < 0 { // a timer
		k = len(cases)
	}
	return x.likes[x.likeOf[i]:][k]
}

// goesOn reports whether it is known what a goroutine does if a choice ends by an object, or a
// timer: as in the recording, or as in an example.
func (s *Simulation) goesOn(i, object int32) bool {
	return object == s.P.Choices[i].Object || len(s.x.examples(s.P, i, object)) > 0
}

// goOnAs goes on as the recorded goroutine did when a select statement ended by an object, or a
// timer: here, or else, until what it does again and again is over, where it once ended so. The
// element is that of the runner. Of several examples any is taken: what follows takes as long as it
// does on average. The op there that ends the choice is done as one that has been granted.
func (s *Simulation) goOnAs(r *runner, i, object int32) {
	n := i
	if object == trace.None {
		s.Out.late++
	}
	c := &s.P.Choices[i]
	x := c
	if object != c.Object {
		// It comes back behind the first choice that it left its own list at, whatever it does at
		// further ones elsewhere.
		all := s.x.examples(s.P, i, object)
		n = all[s.draw(uint64(len(all)))]
		x = &s.P.Choices[n]
		if r.until == 0 {
			r.from = i
		}
		r.until = s.x.rounds[n]
		// What is under way comes along: the elements that it has received and has yet to answer,
		// the spans that are open and began when they did, and the channel that its answer is on
		// its way to.
		ops := s.P.Lists[c.List].Ops
		for k, at := range x.Past {
			if mine, theirs := ops[c.Past[k]].Segment, ops[at].Segment; mine > 0 && theirs > 0 {
				s.took[theirs] = s.took[mine]
			}
		}
		for k, span := range x.Open {
			if theirs := s.x.spans[span]; theirs > 0 {
				s.began[theirs] = s.began[s.x.spans[c.Open[k]]]
			}
		}
		if mine, theirs := c.Own(s.P), x.Own(s.P); mine != trace.None && theirs != trace.None && !x.Asks {
			s.standIn[theirs] = s.standIn[mine]
		}
	}
	// The recorded op there receives, or waits for the timer: the one is done as granted, which
	// notes the element, and the other one is over.
	s.renew(c.List, x.End)
	r.pc = s.x.ends[n]
	if r.granted = object != trace.None; !r.granted {
		r.pc++
		r.element = 0
	}
}

// comeBack has a runner that went on elsewhere go on where its own list does what it does again and
// again the next time.
func (s *Simulation) comeBack(r *runner) {
	c := &s.P.Choices[r.from]
	r.pc, r.until = s.x.rounds[r.from], 0
	s.renew(c.List, s.P.Lists[c.List].RoundEnds(c.End))
}

// renew makes the channel new that is made for the next choice of a list behind an op, as for each
// request. Behind the last one that is the first choice of the next round. Without this the late
// answer to a request before would be there, and end the choice at once.
func (s *Simulation) renew(list, behind int32) {
	l := &s.P.Lists[list]
	n := choiceBehind(s.P, list, behind)
	if n == len(s.P.Choices) || s.P.Choices[n].List != list || l.To > 0 && s.P.Choices[n].End >= l.To {
		n = choiceBehind(s.P, list, l.From-1)
	}
	if n == len(s.P.Choices) || s.P.Choices[n].List != list {
		return
	}
	if made := s.P.Choices[n].Made; made != trace.None {
		s.makeNew(made)
	}
}

// choiceBehind returns the number of the first choice of a list, or a later one, that ends behind
// an op; the number of choices if there is none. Choices must be in the order of lists and ends.
func choiceBehind(p *model.Program, list, op int32) int {
	n, _ := slices.BinarySearchFunc(p.Choices, model.Place{List: list, Op: op + 1}, func(x model.Choice, at model.Place) int {
		return cmp.Or(cmp.Compare(x.List, at.List), cmp.Compare(x.End, at.Op))
	})
	return n
}

// pick returns one of the channels that have an element, and how many are ready: any of those
// before which none of the others is taken; none if there is no element. May reports which channels
// are asked. The nth one that is ready takes the place of the one before with a chance of 1/n, so
// that all have the same chance in one pass (reservoir sampling).
func (s *Simulation) pick(objects []int32, may func(object int32) bool) (ready int32, n uint64) {
	ready = trace.None
	for _, object := range objects {
		if !s.hasElement(object) || !may(object) {
			continue
		}
		if s.comesSecond(object, objects) {
			s.Out.second++
			continue
		}
		if n++; s.draw(n) == 0 {
			ready = object
		}
	}
	return ready, n
}

// comesSecond reports whether there are elements of another channel that are taken before the ones
// of this one: a goroutine looks at that first, by a select with a default, and then at both.
// Select has no priorities of its own. Package infer finds such pairs, in select_priority.go.
func (s *Simulation) comesSecond(object int32, objects []int32) bool {
	return len(s.P.Preferences) > 0 && slices.ContainsFunc(objects, func(other int32) bool {
		return s.P.Preferences[model.Preference{First: other, Second: object}] && s.hasElement(other)
	})
}
