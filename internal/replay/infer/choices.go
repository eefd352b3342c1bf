package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A select statement waits for whatever comes first: an element of one of several channels, or a
// timer. In a faster program another case may be first, and the goroutine goes on otherwise. The
// runtime locks all channels, takes any case that is ready, in a random order, and else waits at
// all of them for the first (selectgo in runtime/select.go: pollorder, pass 1, pass 2). The replay
// can do the same as soon as it knows the channels. What it cannot know is what the goroutine does
// next where it never went on so. That it takes from an example: the same statement, of the same
// goroutine, that did end so.
//
//	recorded   server 3 ms   client waits ... 3 ms, goes on with the answer
//	           server 9 ms   client waits ..... 5 ms, timer, does something else for 2 ms
//	replayed   4.5 ms in place of 9: the answer is first, and the client goes on as in line 1
//
// Lines are rounds of one list; the case is TestAnElementBeforeTheTimerIsTaken. Words:
//
//   - A choice is one time that a goroutine comes to a select statement. Its outcome is the channel
//     that ended it, Fresh for a channel made for this one time, none for a timer.
//   - A statement is all choices of a goroutine at one place. It is decided anew only if it has had
//     two outcomes or more: with one outcome the replay knows of no other way to go on.
//   - The past is what the goroutine received right before, since a batch that has three elements
//     goes on otherwise than a batch of four. Choices are alike with the same past, the same
//     regions open, and the same outcome.
//
// The rule needs marks of select statements, as otelprof build makes them. A choice that would end
// so that there is no example is left as it was, and counted: more than sim.MostStrayed of them
// leave bounds alone (TestAnEndWithoutAnExampleIsCounted). A select statement that ended by sending
// stays as it was.

// findChoices leaves the select statements that end in more than one way, of goroutines that have
// spans or visit progress points. Others work for themselves. It drops the marks of all others,
// notes in p.Cases which channels are chosen from, in p.Stations which are served together, and in
// p.Several which are not though one goroutine takes elements of them and of others.
// Choices and statements themselves are found again by settleChoices: places of ops still change in
// between.
func findChoices(p *model.Program) {
	p.Cases, p.Several, p.Stations = map[int32]bool{}, map[int32]bool{}, []model.Station{{}}
	if !chooses(p) {
		return
	}
	sends := p.SentTo()
	for i := range p.Lists {
		l := &p.Lists[i]
		several := p.TakenAmongOthers(l, sends)
		// A goroutine that holds a lock while it waits in a select statement cannot go on
		// elsewhere: there the lock may not be held.
		l.Drop(func(o *model.Op) bool { return o.Kind == model.OpChoose && !o.Loose })
		keep := l.Has(model.OpChoose) && (l.Has(model.OpOpen) || l.Has(model.OpVisit))
		if keep {
			// A select statement that did not wait has no mark where it begins, only its receive.
			// Without these the examples would be of slow cases alone.
			p.Unwaited(l, sends)
			p.Choices, p.Statements = nil, nil
			choicesOf(p, int32(i), sends)
			keep = slices.ContainsFunc(p.Statements, func(s model.Statement) bool { return len(s.Like) > 0 })
		}
		if !keep {
			l.Drop(func(o *model.Op) bool { return o.Kind == model.OpChoose })
			note(p.Several, several, nil)
			continue
		}
		for k := range p.Choices {
			for _, object := range p.Choices[k].Cases {
				p.Cases[object] = true
			}
		}
		// Channels that one statement receives from several times each are served together, as by a
		// worker with two queues. The last such statement of a list counts.
		for k := range p.Statements {
			if objects := p.Statements[k].Shared; len(objects) > 1 {
				l.Station = sim.StationOf(p, objects)
			}
		}
		note(p.Several, several, p.Stations[l.Station].Objects)
	}
	p.Choices, p.Statements = nil, nil
	prefer(p)
}

// note adds objects to a set, but for some.
func note(all map[int32]bool, objects, but []int32) {
	for _, object := range objects {
		if !slices.Contains(but, object) {
			all[object] = true
		}
	}
}

// chooses reports whether there are marks of select statements. A stock trace has none.
func chooses(p *model.Program) bool { return len(p.Told) > 0 }

// choicesOf adds the choices and statements of a list, behind what p.Choices and p.Statements have.
// Sends are the objects that any goroutine sends to: a receive from another object is a timer's. It
// takes as many steps as there are ops, and for each choice as many as spans are open.
func choicesOf(p *model.Program, list int32, sends map[int32]bool) {
	l := &p.Lists[list]
	first, before := len(p.Choices), len(p.Statements)
	times := map[int32]int{} // by object: choices that it ended
	var sites []int32        // of statements, where they waited
	of := map[int32]int32{}  // statements by object
	var open []int32
	gives, ends := l.GivesTo(), l.Closes()
	for k := range l.Ops {
		o := &l.Ops[k]
		switch o.Kind {
		case model.OpOpen:
			if ends[o.Arg] {
				open = append(open, o.Arg)
			}
		case model.OpClose:
			open = slices.DeleteFunc(open, func(s int32) bool { return s == o.Arg })
		case model.OpChoose:
			// A mark without an end is one whose window ends first, or that sent.
			end, object, ok := l.Ends(k, sends)
			if !ok {
				continue
			}
			c := model.Choice{List: list, Op: int32(k), End: int32(end), Object: object, Statement: trace.None, Open: slices.Clone(open)}
			// Only a choice that waited shows where its statement is. The others follow by their
			// channel, in placeChoices.
			if site := l.Ops[end].Site; site != 0 {
				i := slices.Index(sites, site)
				if i < 0 {
					i = len(sites)
					sites = append(sites, site)
					p.Statements = append(p.Statements, model.Statement{Like: map[model.OutcomeKey][]int32{}})
				}
				c.Statement = int32(before + i)
				of[object] = c.Statement
			}
			times[object]++
			casesOf(&c, p, o, sends, gives)
			p.Choices = append(p.Choices, c)
		}
	}
	placeChoices(p, first, before, times, of)
	likenChoices(p, first)
	dropUniform(p, first, before)
}

// placeChoices assigns the choices of a list, from first, to its statements, from before: by where
// they ended, or by the channel. A choice that did not wait has no stack. If its channel has ended
// waits at one statement, it is of that; if the list has one statement, of that; else it is of none
// and stays as it was. A channel that several statements receive from is taken for one of the last
// of them.
func placeChoices(p *model.Program, first, before int, times map[int32]int, of map[int32]int32) {
	for i := first; i < len(p.Choices); i++ {
		c := &p.Choices[i]
		if c.Statement == trace.None && c.Object != trace.None {
			if s, ok := of[c.Object]; ok {
				c.Statement = s
			} else if len(p.Statements) == before+1 {
				c.Statement = int32(before)
			}
		}
		if c.Statement == trace.None {
			continue
		}
		s := &p.Statements[c.Statement]
		// A channel that ended two choices lasts, so that it is a case each time. One that ended a
		// single choice may have been made for it: its outcome is Fresh, whatever its number.
		if c.Object != trace.None && times[c.Object] > 1 && !slices.Contains(s.Shared, c.Object) {
			s.Shared = append(s.Shared, c.Object)
		}
	}
}

// likenChoices groups the choices of a list, from first, by the past and the outcome. It comes
// behind placeChoices for all of them, as any choice may show that a channel is shared.
func likenChoices(p *model.Program, first int) {
	for i := first; i < len(p.Choices); i++ {
		c := &p.Choices[i]
		if c.Statement == trace.None {
			continue
		}
		s := &p.Statements[c.Statement]
		// Without marks of the cases a lasting channel is taken for a case of each choice of the
		// statement.
		for _, object := range s.Shared {
			if !c.Told && !slices.Contains(c.Cases, object) {
				c.Cases = append(c.Cases, object)
			}
		}
		remember(c, p)
		k := c.Like(p, c.Outcome(p, c.Object))
		s.Like[k] = append(s.Like[k], int32(i))
	}
}

// dropUniform sets the choices of a list's statements, and leaves no groups to the statements that
// end in one way only. Without groups a choice is not decided anew, see decided.
func dropUniform(p *model.Program, first, before int) {
	for i := before; i < len(p.Statements); i++ {
		s := &p.Statements[i]
		s.From, s.To = first, len(p.Choices)
		ways := map[int32]bool{}
		for k := range s.Like {
			ways[k.Outcome] = true
		}
		if len(ways) < 2 {
			s.Like = nil
		}
	}
}

// casesOf finds the channels that a select statement may receive from: the channels in its marks
// that others send to, or, without such marks, the one that it did receive from, or that the
// goroutine receives from next. The last is the answer that came too late: a client whose timer was
// first often waits for the same answer then. Gives are channels that the goroutine sends to: a
// case of one of these sends. A channel to which nothing is sent, such as that of a context, is no
// case here.
func casesOf(c *model.Choice, p *model.Program, begins *model.Op, sends, gives map[int32]bool) {
	add := func(object int32) {
		if object >= 0 && sends[object] && !slices.Contains(c.Cases, object) {
			c.Cases = append(c.Cases, object)
		}
	}
	if begins.Nth > 0 {
		for _, object := range p.Told[begins.Nth-1] {
			if !gives[object] { // else it is a case that sends
				add(object)
			}
		}
		c.Told = len(c.Cases) > 0
	}
	if c.Object == trace.None && len(c.Cases) == 0 {
		add(p.Lists[c.List].Later(int(c.End)))
	}
	add(c.Object)
}

// remember finds what the goroutine received right before a choice. The key has one letter for
// each, r for an element and t for a timer.
func remember(c *model.Choice, p *model.Program) {
	l := &p.Lists[c.List]
	c.Past = l.Past(int(c.Op))
	for _, k := range c.Past {
		if l.Ops[k].Kind == model.OpReceive {
			c.Key += "r"
		} else {
			c.Key += "t"
		}
	}
}

// settleChoices sets, in the ops where select statements begin, which choices they are, once all
// ops have their places. An OpChoose that is not decided anew has no number, and the simulation
// passes over it.
func settleChoices(p *model.Program) {
	p.Choices, p.Statements = nil, nil
	if !chooses(p) {
		return
	}
	sends := p.SentTo()
	for i := range p.Lists {
		l := &p.Lists[i]
		if !l.Has(model.OpChoose) {
			continue
		}
		// A goroutine that serves goes on with the work of elements, and has no place of its own to
		// go on at.
		if l.Serves < 0 {
			choicesOf(p, int32(i), sends)
		}
		for k := range l.Ops {
			if o := &l.Ops[k]; o.Kind == model.OpChoose {
				o.Arg = trace.None
			}
		}
	}
	for i := range p.Choices {
		c := &p.Choices[i]
		if !decided(p, c) {
			continue
		}
		l := &p.Lists[c.List]
		l.Ops[c.Op].Arg = int32(i)
		// From the first of a row the timer of the whole row counts (Statement.Whole). An element
		// from before the window has no segment: where an answer to it goes is not known, so that
		// this choice is no example.
		if n := len(c.Past); n > 0 {
			l.Ops[c.Past[n-1]].Row = true
		}
		for _, k := range c.Past {
			c.Blind = c.Blind || l.Ops[k].Kind == model.OpReceive && l.Ops[k].Segment == 0
		}
	}
	settleStatements(p)
	findMade(p)
	sim.FindRequests(p)
}

// settleStatements finds the limits of statements, and drops the examples that the replay cannot
// follow: blind ones, and choices outside of what the list does again and again.
func settleStatements(p *model.Program) {
	helps := helped(p)
	for i := range p.Statements {
		limits(p, int32(i), helps)
		for k, all := range p.Statements[i].Like {
			p.Statements[i].Like[k] = slices.DeleteFunc(all, func(c int32) bool {
				x := &p.Choices[c]
				l := &p.Lists[x.List]
				return x.Blind || x.End < l.From || x.End >= l.To
			})
		}
	}
}

// findMade finds the channels that are made for a choice: the channel for the answer to a request.
// It is received from twice at most, the second time when the answer came too late, and by no
// choice before. The simulation makes it new when the list comes to the choice.
func findMade(p *model.Program) {
	receives := map[int32]int{}
	for _, o := range p.All() {
		if o.Kind == model.OpReceive {
			receives[o.Arg]++
		}
	}
	before := map[int32]bool{}
	for i := range p.Choices {
		c := &p.Choices[i]
		c.Made = trace.None
		for _, object := range c.Cases {
			if decided(p, c) && receives[object] <= 2 && !before[object] && c.Outcome(p, object) == model.Fresh {
				c.Made = object
			}
			before[object] = true
		}
	}
}

// decided reports whether a choice is of a select statement that has ended in several ways.
func decided(p *model.Program, c *model.Choice) bool {
	return c.Statement != trace.None && p.Statements[c.Statement].Like != nil
}

// decides reports whether a list can go on elsewhere than it did: its goroutine neither waits for
// others nor wakes them up but by objects, unless they only work for themselves. A token is given
// once for each time round. Where a list leaves out a piece with a wake-up, the other side would
// wait for ever, and where it does one twice, a token would be left over. Helps are by token, see
// helped.
func decides(l *model.List, helps []bool) bool {
	return l.To > 0 && !slices.ContainsFunc(l.Ops[l.From:l.To], func(o model.Op) bool {
		return o.Kind == model.OpWait || o.Kind == model.OpWake && !helps[o.Arg]
	})
}

// limits finds after which time a timer ends statement i: since the goroutine came to it, or to the
// first of several in a row. Both occur: a timer for each element, and one for a whole batch. Which
// it is shows in the spread, of the middle four fifths: of times measured from where the timer was
// set there is less.
//
//	batch by a timer of 10 ms    elements at 3, 6, 8 ms: the last choice lasts 2 ms, the row 10 ms
//	                             elements at 4, 5 ms:    the last choice lasts 5 ms, the row 10 ms
//
// The limit stays 0 where no timer has ended the statement. All times are as recorded, with the
// lateness of timers.
func limits(p *model.Program, i int32, helps []bool) {
	s := &p.Statements[i]
	var alone, whole []int64
	s.Decides = decides(&p.Lists[p.Choices[s.From].List], helps)
	// Took is for how long a choice was waited for, and for how long since the first of its row.
	took := func(c *model.Choice) (alone, whole int64) {
		ops := p.Lists[c.List].Ops
		since, first := ops[c.Op].At, ops[c.Op].At
		if n := len(c.Past); n > 0 {
			first = ops[c.Past[n-1]].At
		}
		return ops[c.End].At - since, ops[c.End].At - first
	}
	for k := s.From; k < s.To; k++ {
		// An element shows no more than that the timer was longer.
		if c := &p.Choices[k]; c.Statement == i && c.Object == trace.None {
			it, row := took(c)
			alone, whole = append(alone, it), append(whole, row)
		}
	}
	if len(alone) == 0 {
		return
	}
	// With fewer than ten the spread is between the shortest and the longest.
	slices.Sort(alone)
	slices.Sort(whole)
	n := len(alone)
	spread := func(v []int64) int64 { return v[n-1-n/10] - v[n/10] }
	s.Limit = alone[n/2]
	if cmp.Less(spread(whole), spread(alone)) {
		s.Limit, s.Whole = whole[n/2], true
	}
	for k := s.From; k < s.To; k++ { // a timer may have been later there
		if c := &p.Choices[k]; c.Statement == i && c.Object != trace.None {
			it, row := took(c)
			if s.Whole {
				it = row
			}
			c.Untimed = it + model.Near
		}
	}
}

// helped returns, by token, whether a goroutine waits for it that has no spans and visits no
// progress points: a logger, for example, or a connection's writer. To let such a goroutine go on
// is no part of what requests wait for. It takes one pass over all ops.
func helped(p *model.Program) []bool {
	helps := make([]bool, p.Tokens)
	for i := range p.Lists {
		if l := &p.Lists[i]; l.Has(model.OpOpen) || l.Has(model.OpVisit) {
			continue
		}
		for k := range p.Lists[i].Ops {
			if o := &p.Lists[i].Ops[k]; o.Kind == model.OpWait {
				helps[o.Arg] = true
			}
		}
	}
	return helps
}
