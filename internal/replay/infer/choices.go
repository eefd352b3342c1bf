package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// findChoices leaves the select statements that end in more than one way, of goroutines that have
// spans or visit progress points. Others work for themselves.
func findChoices(p *model.Program) {
	p.Cases, p.Stations = map[int32]bool{}, []model.Station{{}}
	if !chooses(p) {
		return
	}
	sends := p.SentTo()
	var together [][]int32
	for i := range p.Lists {
		l := &p.Lists[i]
		l.Drop(func(o *model.Op) bool { return o.Kind == model.OpChoose && !o.Loose })
		if !l.Has(model.OpChoose) {
			continue
		}
		keep := l.Has(model.OpOpen) || l.Has(model.OpVisit)
		if keep {
			p.Unwaited(l, sends)
			p.Choices, p.Statements = nil, nil
			choicesOf(p, int32(i), sends)
			keep = slices.ContainsFunc(p.Statements, func(s model.Statement) bool { return len(s.Like) > 0 })
		}
		if !keep {
			l.Drop(func(o *model.Op) bool { return o.Kind == model.OpChoose })
			continue
		}
		for k := range p.Choices {
			for _, object := range p.Choices[k].Cases {
				p.Cases[object] = true
			}
		}
		for k := range p.Statements {
			if objects := p.Statements[k].Shared; len(objects) > 1 {
				l.Station = sim.StationOf(p, objects)
			}
		}
	}
	p.Choices, p.Statements = nil, nil
	for i := range p.Stations {
		together = append(together, p.Stations[i].Objects)
	}
	prefer(p, together)
}

// chooses reports whether there are marks of select statements.
func chooses(p *model.Program) bool { return len(p.Told) > 0 }

// choicesOf adds the choices and statements of a list.
func choicesOf(p *model.Program, list int32, sends map[int32]bool) {
	l := &p.Lists[list]
	first, before := len(p.Choices), len(p.Statements)
	times := map[int32]int{} // by object
	var sites []int32        // of statements
	of := map[int32]int32{}  // statements by object
	var open []int32
	gives := l.GivesTo()
	for k := range l.Ops {
		o := &l.Ops[k]
		switch o.Kind {
		case model.OpOpen:
			open = append(open, o.Arg)
		case model.OpClose:
			open = slices.DeleteFunc(open, func(s int32) bool { return s == o.Arg })
		case model.OpChoose:
			end, object, ok := l.Ends(k, sends)
			if !ok {
				continue
			}
			c := model.Choice{List: list, Op: int32(k), End: int32(end), Object: object, Statement: trace.None, Open: slices.Clone(open)}
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
// they ended, or by the channel.
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
		s.Timer = s.Timer || c.Object == trace.None
		if c.Object != trace.None && times[c.Object] > 1 && !slices.Contains(s.Shared, c.Object) {
			s.Shared = append(s.Shared, c.Object)
		}
	}
}

// likenChoices groups the choices of a list, from first, by the past and the outcome.
func likenChoices(p *model.Program, first int) {
	for i := first; i < len(p.Choices); i++ {
		c := &p.Choices[i]
		if c.Statement == trace.None {
			continue
		}
		s := &p.Statements[c.Statement]
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
// end in one way only.
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

// casesOf finds the channels that a select statement may receive from: those in its marks that
// others send to, or, without such marks, the one that it did receive from, or that the goroutine
// receives from next.
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

// remember finds what the goroutine received right before a choice.
func remember(c *model.Choice, p *model.Program) {
	l := &p.Lists[c.List]
	for k := c.Op - 1; k >= 0 && len(c.Past) < model.MostPast; k-- {
		switch o := &l.Ops[k]; {
		case o.Kind == model.OpRun || o.Kind == model.OpChoose:
			continue
		case o.Kind == model.OpReceive, o.Kind == model.OpOut && l.Chooses(int(k)):
			c.Past = append(c.Past, k)
			if o.Kind == model.OpReceive {
				c.Key += "r"
			} else {
				c.Key += "t"
			}
			continue
		}
		break
	}
}

// settleChoices sets, in the ops where select statements begin, which choices they are, once all
// ops have their places.
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
// follow.
func settleStatements(p *model.Program) {
	helps := cond.Helped(p)
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

// findMade finds the channels that are made for a choice.
func findMade(p *model.Program) {
	receives := map[int32]int{}
	for i := range p.Lists {
		for k := range p.Lists[i].Ops {
			if o := &p.Lists[i].Ops[k]; o.Kind == model.OpReceive {
				receives[o.Arg]++
			}
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
// others nor wakes them up but by objects, unless they only work for themselves.
func decides(l *model.List, helps []bool) bool {
	return l.To > 0 && !slices.ContainsFunc(l.Ops[l.From:l.To], func(o model.Op) bool {
		return o.Kind == model.OpWait || o.Kind == model.OpWake && !helps[o.Arg]
	})
}

// limits finds after which time a timer ends a statement: since the goroutine came to it, or to the
// first of several in a row.
func limits(p *model.Program, i int32, helps []bool) {
	s := &p.Statements[i]
	var alone, whole []int64
	s.Decides = decides(&p.Lists[p.Choices[s.From].List], helps)
	for k := s.From; k < s.To; k++ {
		c := &p.Choices[k]
		if c.Statement != i {
			continue
		}
		l := &p.Lists[c.List]
		end, since := l.Ops[c.End].At, l.Ops[c.Op].At
		first := since
		if n := len(c.Past); n > 0 {
			first = l.Ops[c.Past[n-1]].At
		}
		if c.Object != trace.None {
			continue
		}
		alone = append(alone, end-since)
		whole = append(whole, end-first)
	}
	if len(alone) == 0 {
		return
	}
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
			ops := p.Lists[c.List].Ops
			since := ops[c.Op].At
			if n := len(c.Past); n > 0 && s.Whole {
				since = ops[c.Past[n-1]].At
			}
			c.Untimed = ops[c.End].At - since + model.Near
		}
	}
}
