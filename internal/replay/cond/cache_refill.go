package cond

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// A refill is the rule of what one goroutine makes for all (single flight in front of a cache): a
// value that is loaded again after a number of uses, or at an age (time to live). The goroutine
// that finds it used up loads it, and others that come meanwhile wait for that. Without it a faster
// load is still done as often as recorded, by the same goroutines.
//
//	A   use  |find|======= load ======|signal| use
//	B   use use   |~~~~~~~ wait ~~~~~~~~~~~~~| use
//
// The principle: all uses and loads are with the lock, so that how many uses were between two loads
// can be counted, and how old the value was at each use. It is good for a number of uses if that
// number is the same in 95 % of the loads; for a time if 95 % of the uses come before the age at
// which it is found to be too old. What agrees with neither keeps its order: values that writes
// invalidate, for example, or random lifetimes. Workload singleflight of integration/accuracy is
// such a program.
//
// Which goroutine loads is decided anew, so that a load must be something that any of them can do:
// see apart. Package sim has the store (use and fill in store.go).

// leastRefills is how many of them a rule takes. With 10 loads there are 9 numbers of uses, of
// which all must be the same to be 95 %.
const leastRefills = 10

// A load is what a goroutine did to fill what others use: from the section in which it found that
// it had to, to the section in which it signalled that to the others. Found is nil where that was
// before the window.
type load struct{ found, told *section }

// A store is what is loaded: good for a number of uses, Capacity, the loader's own included, or for
// the time Lasts, if that is not 0. Since is of the recording's clock.
type store struct {
	model.ObjectInfo
	loads     []load     // in order of the signals
	consumers []*section // that use it without having loaded it
}

// refills finds the store that goroutines wait for. In the replay each of its users comes to a use
// of the store, also those that loaded it: which ones find it used up is decided there.
func refills(c *condition) replacement {
	s, ok := c.store()
	if !ok {
		return nil
	}
	return func(b *model.Builder, edits Edits) {
		s.Kind, s.Since = model.ObjectStore, s.Since-b.P.Rec.Start
		object := b.NewObject(s.ObjectInfo)
		// A use is before the lock is taken to go on: it may wait, or be sent to load.
		for _, u := range s.consumers {
			edits.instead(b, u, model.OpUse, object)
		}
		for _, x := range s.loads {
			e := edits.Of(x.told.list)
			ops := b.P.Lists[x.told.list].Ops
			// Between use and fill a list is in the middle of a load, and must not begin anew.
			if x.found != nil {
				edits.instead(b, x.found, model.OpUse, object)
				holdOn(b, x.told.list, x.found.lock, x.told.lock-1)
			}
			e.before[x.told.lock] = append(e.before[x.told.lock], model.Op{Kind: model.OpFill, Arg: object, At: x.told.at, Late: -1, Set: ops[x.told.lock].Set})
		}
	}
}

// store returns what is loaded, false if that follows no rule. Others must wait while one loads,
// and at no other time (doneForAll); a load is the section of a signal and the one before it, of
// the same goroutine.
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
	// Uses first: a number that is always the same is no accident, while an age may seem to be one
	// where uses come evenly.
	s.Held = s.loads[0].found == nil
	ok = c.usedUp(&s) || c.tooOld(&s)
	return s, ok
}

// apart reports whether a load waits for no goroutine and wakes none that matters, so that any
// goroutine can do it: in the replay its ops are borrowed by the one that finds the store used up.
// Tokens of waits that have become an object's (dead), or of helpers, do not count.
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

// usedUp finds how often it can be used, if that is always the same, in 95 % of the loads. It fills
// in Capacity and Count.
func (c *condition) usedUp(s *store) bool {
	var at []int64 // of uses
	for _, u := range s.consumers {
		at = append(at, u.at)
	}
	for _, x := range s.loads {
		at = append(at, x.told.at)
	}
	slices.Sort(at)
	// The loader's own use comes with its signal. How many uses came between two of these is what
	// one load was good for; before the first of them, what was left of an earlier one.
	before := func(t int64) int {
		n, _ := slices.BinarySearch(at, t)
		return n
	}
	var uses []int
	for i := range s.loads[1:] {
		uses = append(uses, before(s.loads[i+1].told.at)-before(s.loads[i].told.at))
	}
	usual := slices.Sorted(slices.Values(uses))[len(uses)/2]
	s.Count, s.Capacity = int32(before(s.loads[0].told.at)), int32(usual)
	alike := 0
	for _, n := range uses {
		if n == usual {
			alike++
		}
	}
	return usual > 0 && float64(alike) >= model.Agreeing*float64(len(uses))
}

// tooOld finds for how long it is good, if its users came before that, and its loader later. The
// age counts from the signal; a program that takes the time before the load has the load's length
// in it, which stays as it was.
//
// With ages at use of 0 to 99 ms and ages when found too old of 100 to 104 ms, it lasts for 100 ms:
// the lowest age found but for 5 %, which may be of other causes. It fills in Lasts and Since.
func (c *condition) tooOld(s *store) bool {
	var used, found []int64
	age := func(at int64) (int64, bool) { // since its load was signalled
		// The last load that was signalled before.
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
	// The 5th percentile of the one, and the 95th of the other: they must not overlap.
	s.Capacity, s.Lasts = 1, found[len(found)/20]
	// At first it is as old as it has to be for the first load to come when it came.
	if !s.Held {
		s.Since = s.loads[0].found.at - s.Lasts
	}
	return s.Lasts > 0 && used[(len(used)-1)*19/20] < s.Lasts
}

// SettleStores finds the loads, once all ops have their places: it pairs each OpFill with the last
// OpUse of its store before it, numbers the pairs from 1 (Nth), and lists them in Fillings. Loads
// that a list comes to each time can be done by others (Lent, by store); one behind the place where
// the list begins anew has no turn of its own. It can be called again after lists change, and then
// begins anew.
func SettleStores(p *model.Program) {
	p.Fillings, p.Lent = nil, map[int32][]int32{}
	if !slices.ContainsFunc(p.Objects, func(o model.ObjectInfo) bool { return o.Kind == model.ObjectStore }) {
		return
	}
	for i := range p.Lists {
		l := &p.Lists[i]
		uses := map[int32]int32{} // the last one, by store
		for k := range l.Ops {
			o := &l.Ops[k]
			switch o.Kind {
			case model.OpUse:
				uses[o.Arg], o.Nth = int32(k), 0
			case model.OpFill:
				o.Nth = 0
				use, ok := uses[o.Arg]
				if !ok { // it began before the window, and has no number
					continue
				}
				p.Fillings = append(p.Fillings, model.Filling{List: int32(i), Use: use, Fill: int32(k)})
				n := int32(len(p.Fillings))
				o.Nth, l.Ops[use].Nth = n, n
				if l.To == 0 || int32(k) < l.To {
					p.Lent[o.Arg] = append(p.Lent[o.Arg], n)
				}
				delete(uses, o.Arg)
			}
		}
	}
}
