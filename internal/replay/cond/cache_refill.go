package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A refill is the rule of what one goroutine makes for all: a cached value that is loaded again
// after a number of uses, or at an age (time to live). The goroutine that finds it used up loads
// it, and others that come meanwhile wait for that.

// leastRefills is how many of them a rule takes.
const leastRefills = 10

// A load is what a goroutine did to fill what others use: from the section in which it found that
// it had to, to the section in which it signalled that to the others.
type load struct{ found, told *section }

// A store is what is loaded: good for a number of uses, or for the time lasts if that is not 0.
type store struct {
	uses      int
	lasts     int64
	left      int   // uses at first
	since     int64 // when it was loaded last, at first
	loading   bool  // at first
	loads     []load
	consumers []*section // that use it without having loaded it
}

// refills finds the store that goroutines wait for.
func refills(c *condition) replacement {
	s, ok := c.store()
	if !ok {
		return nil
	}
	return func(b *model.Builder, edits map[int32]*Edit) {
		object := b.NewObject(model.ObjectInfo{
			Kind: model.ObjectStore, Capacity: int32(s.uses), Count: int32(s.left), Held: s.loading, Lasts: s.lasts, Since: s.since - b.P.Rec.Start,
		})
		for _, u := range s.consumers {
			e := EditOf(edits, u.list)
			skip(b, e, u, u.first, u.lock)
			e.before[u.lock] = append(e.before[u.lock], waiting(b, u, model.OpUse, object))
		}
		for _, x := range s.loads {
			e := EditOf(edits, x.told.list)
			ops := b.P.Lists[x.told.list].Ops
			if x.found != nil {
				skip(b, e, x.found, x.found.first, x.found.lock)
				e.before[x.found.lock] = append(e.before[x.found.lock], waiting(b, x.found, model.OpUse, object))
				holdOn(b, x.told.list, x.found.lock, x.told.lock-1)
			}
			e.before[x.told.lock] = append(e.before[x.told.lock], model.Op{Kind: model.OpFill, Arg: object, At: x.told.at, Late: -1, Set: ops[x.told.lock].Set})
		}
	}
}

// store returns what is loaded.
func (c *condition) store() (s store, ok bool) {
	if !doneForAll(c) {
		return s, false
	}
	loaded := map[*section]bool{}
	for _, signal := range c.signals {
		x := load{told: signal.section}
		if n := x.told.number; n > 0 {
			x.found = c.sections[x.told.list][n-1]
			if !c.apart(x) {
				return s, false
			}
			loaded[x.found] = true
		}
		loaded[x.told] = true
		s.loads = append(s.loads, x)
	}
	for _, u := range c.passes {
		if !loaded[u] {
			s.consumers = append(s.consumers, u)
		}
	}
	if len(s.loads) < leastRefills {
		return s, false
	}
	s.loading = s.loads[0].found == nil
	ok = c.usedUp(&s) || c.tooOld(&s)
	return s, ok
}

// apart reports whether a load waits for no goroutine and wakes none that matters, so that any
// goroutine can do it.
func (c *condition) apart(x load) bool {
	return !slices.ContainsFunc(c.p.Lists[x.told.list].Ops[x.found.lock:x.told.lock], func(o model.Op) bool {
		switch o.Kind {
		case model.OpWait:
			return !c.dead[o.Arg]
		case model.OpWake:
			return !c.dead[o.Arg] && !c.helps[o.Arg]
		case model.OpSpawn, model.OpChoose:
			return true
		}
		return false
	})
}

// usedUp finds how often it can be used, if that is always the same.
func (c *condition) usedUp(s *store) bool {
	var at []int64 // of uses
	for _, u := range s.consumers {
		at = append(at, u.at)
	}
	for _, x := range s.loads {
		at = append(at, x.told.at)
	}
	slices.Sort(at)
	before := func(t int64) int {
		n, _ := slices.BinarySearch(at, t)
		return n
	}
	var uses []int
	for i := range s.loads[1:] {
		uses = append(uses, before(s.loads[i+1].told.at)-before(s.loads[i].told.at))
	}
	s.left = before(s.loads[0].told.at)
	sorted := slices.Sorted(slices.Values(uses))
	s.uses = sorted[len(sorted)/2]
	alike := 0
	for _, n := range uses {
		if n == s.uses {
			alike++
		}
	}
	return s.uses > 0 && float64(alike) >= model.Agreeing*float64(len(uses))
}

// tooOld finds for how long it is good, if its users came before that, and its loader later.
func (c *condition) tooOld(s *store) bool {
	var used, found []int64
	age := func(at int64) (int64, bool) { // since its load was signalled
		n, _ := slices.BinarySearchFunc(s.loads, at, func(x load, at int64) int { return cmp.Compare(x.told.at, at) })
		if n == 0 {
			return 0, false
		}
		return at - s.loads[n-1].told.at, true
	}
	for _, u := range s.consumers {
		if d, ok := age(u.at); ok {
			used = append(used, d)
		}
	}
	for _, x := range s.loads[1:] {
		if x.found == nil {
			return false
		}
		if d, ok := age(x.found.at); ok {
			found = append(found, d)
		}
	}
	if len(used) == 0 || len(found) == 0 {
		return false
	}
	slices.Sort(used)
	slices.Sort(found)
	s.uses, s.lasts = 1, found[len(found)/20]
	if !s.loading {
		s.since = s.loads[0].found.at - s.lasts
	}
	return s.lasts > 0 && used[(len(used)-1)*19/20] < s.lasts
}

// SettleStores finds the loads, once all ops have their places. Loads that a list comes to each
// time can be done by others.
func SettleStores(p *model.Program) {
	p.Fillings, p.Lent = nil, map[int32][]int32{}
	if !slices.ContainsFunc(p.Objects, func(o model.ObjectInfo) bool { return o.Kind == model.ObjectStore }) {
		return
	}
	for i := range p.Lists {
		l := &p.Lists[i]
		use := int32(trace.None)
		for k := range l.Ops {
			o := &l.Ops[k]
			switch o.Kind {
			case model.OpUse:
				use, o.Nth = int32(k), 0
			case model.OpFill:
				o.Nth = 0
				if use == trace.None {
					continue
				}
				p.Fillings = append(p.Fillings, model.Filling{List: int32(i), Use: use, Fill: int32(k)})
				n := int32(len(p.Fillings))
				o.Nth, l.Ops[use].Nth = n, n
				if l.To == 0 || int32(k) < l.To {
					p.Lent[o.Arg] = append(p.Lent[o.Arg], n)
				}
				use = trace.None
			}
		}
	}
}
