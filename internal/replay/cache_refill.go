package replay

import (
	"cmp"
	"slices"
)

// A refill is the rule of what one goroutine makes for all: a cached value that is loaded again after a number of uses, or at an age
// (time to live). The goroutine that finds it used up loads it, and others that come meanwhile wait for that.

// leastRefills is how many of them a rule takes.
const leastRefills = 10

// A load is what a goroutine did to fill what others use: from the section in which it found that it had to, to the section in which
// it signalled that to the others.
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
	return func(b *builder, edits map[int32]*edit) {
		object := b.newObject(objectInfo{
			kind: objectStore, capacity: int32(s.uses), count: int32(s.left), held: s.loading, lasts: s.lasts, since: s.since - b.p.rec.Start,
		})
		for _, u := range s.consumers {
			e := editOf(edits, u.list)
			b.skip(e, u, u.first, u.lock)
			e.before[u.lock] = append(e.before[u.lock], b.waiting(u, opUse, object))
		}
		for _, x := range s.loads {
			e := editOf(edits, x.told.list)
			ops := b.p.lists[x.told.list].ops
			if x.found != nil {
				b.skip(e, x.found, x.found.first, x.found.lock)
				e.before[x.found.lock] = append(e.before[x.found.lock], b.waiting(x.found, opUse, object))
				b.holdOn(x.told.list, x.found.lock, x.told.lock-1)
			}
			e.before[x.told.lock] = append(e.before[x.told.lock], op{kind: opFill, arg: object, at: x.told.at, late: -1, set: ops[x.told.lock].set})
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

// apart reports whether a load waits for no goroutine and wakes none that matters, so that any goroutine can do it.
func (c *condition) apart(x load) bool {
	return !slices.ContainsFunc(c.p.lists[x.told.list].ops[x.found.lock:x.told.lock], func(o op) bool {
		switch o.kind {
		case opWait:
			return !c.dead[o.arg]
		case opWake:
			return !c.dead[o.arg] && !c.helps[o.arg]
		case opSpawn, opChoose:
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
	return s.uses > 0 && float64(alike) >= agreeing*float64(len(uses))
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

// A filling is a load in the list that did it.
type filling struct{ list, use, fill int32 } // ops, or instructions

// settleStores finds the loads, once all ops have their places. Loads that a list comes to each time can be done by others.
func (p *program) settleStores() {
	p.fillings, p.lent = nil, map[int32][]int32{}
	if !slices.ContainsFunc(p.objects, func(o objectInfo) bool { return o.kind == objectStore }) {
		return
	}
	for i := range p.lists {
		l := &p.lists[i]
		use := int32(none)
		for k := range l.ops {
			o := &l.ops[k]
			switch o.kind {
			case opUse:
				use, o.nth = int32(k), 0
			case opFill:
				o.nth = 0
				if use == none {
					continue
				}
				p.fillings = append(p.fillings, filling{int32(i), use, int32(k)})
				n := int32(len(p.fillings))
				o.nth, l.ops[use].nth = n, n
				if l.to == 0 || int32(k) < l.to {
					p.lent[o.arg] = append(p.lent[o.arg], n)
				}
				use = none
			}
		}
	}
}

// use takes one of what is left in a store, loads it if there is none, or reports that the runner must wait for another one that does.
func (s *simulation) use(i int32, o *instruction) bool {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	r.granted = false
	lent := s.p.lent[o.arg]
	switch {
	case b.lasts > 0 && s.now-b.since < b.lasts, b.lasts == 0 && b.count > 0, len(lent) == 0:
		b.count--
		r.pc++
		if o.ref > 0 {
			r.pc = s.x.fillings[o.ref-1].fill + 1
		}
	case b.held:
		b.queue.push(i)
		r.late = int64(o.late)
		return false
	default:
		b.held = true
		if o.ref == 0 { // as another one did, in turn
			r.borrows, r.home = true, r.pc
			r.pc = s.x.fillings[lent[b.filled%len(lent)]-1].use
			b.filled++
		}
		r.pc++
	}
	return true
}

// fill has a store be loaded, and its runner and all that wait go on with using it.
func (s *simulation) fill(i, proc int32, o *instruction) {
	r := &s.runners[i]
	b := &s.objects[o.arg]
	b.held, b.count, b.since = false, b.cap, s.now
	for b.queue.len() > 0 {
		s.grant(b.queue.pop(), proc)
	}
	switch {
	case r.borrows:
		r.borrows, r.pc = false, r.home
	case o.ref > 0:
		r.pc = s.x.fillings[o.ref-1].use
	default: // it began before the window
		b.count--
		r.pc++
	}
}
