package replay

import (
	"cmp"
	"slices"
)

// A select statement takes any of the cases that are ready. A goroutine that looks at one channel first, and comes to the select statement only
// if it is empty, takes that one's elements before all others. A recording does not show channels that were found empty; it does
// show which elements were there when another one was taken.

// A preference is a channel whose elements goroutines take before those of another one.
type preference struct{ first, second int32 }

const (
	// leastBoth is for how many receives there must have been elements of both channels.
	leastBoth = 20
	// markedWithin is how far the mark of an operation may be from when it took effect, ns.
	markedWithin = 20_000
)

// prefer finds the preferences among channels that one select statement receives from.
func (p *program) prefer(together [][]int32) {
	type flow struct{ sends, receives, taken []int64 }
	flows := map[int32]*flow{}
	for _, objects := range together {
		for _, object := range objects {
			flows[object] = &flow{}
		}
	}
	for i := range p.lists {
		for k := range p.lists[i].ops {
			o := &p.lists[i].ops[k]
			f := flows[o.arg]
			switch {
			case f == nil:
			case o.kind == opSend && o.site != 0: // the element was there while its sender waited
				f.sends = append(f.sends, o.d)
			case o.kind == opSend:
				f.sends = append(f.sends, o.at)
			case o.kind == opReceive:
				f.receives = append(f.receives, o.at)
				if o.site == 0 {
					f.taken = append(f.taken, o.at)
				}
			}
		}
	}
	for _, f := range flows {
		slices.Sort(f.sends)
		slices.Sort(f.receives)
	}
	until := func(times []int64, at int64) int {
		n, _ := slices.BinarySearchFunc(times, at, func(t, at int64) int { return cmp.Or(cmp.Compare(t, at), -1) })
		return n
	}
	// Both is how often an element of the first was taken while there was one of the second.
	both := func(first, second int32) (n int) {
		other := flows[second]
		for _, at := range flows[first].taken {
			if int(p.objects[second].count)+until(other.sends, at-markedWithin)-until(other.receives, at+markedWithin) > 0 {
				n++
			}
		}
		return n
	}
	p.preferences = map[preference]bool{}
	for _, objects := range together {
		for i, first := range objects {
			for _, second := range objects[i+1:] {
				a, b := both(first, second), both(second, first)
				switch {
				case a+b < leastBoth:
				case float64(a) >= agreeing*float64(a+b):
					p.preferences[preference{first, second}] = true
				case float64(b) >= agreeing*float64(a+b):
					p.preferences[preference{second, first}] = true
				}
			}
		}
	}
}

// pick returns one of the channels that have an element: any of those before which none of the others is taken; none if there is no
// element. May reports which channels are asked.
func (s *simulation) pick(objects []int32, may func(object int32) bool) int32 {
	ready, n := int32(none), uint64(0)
	for _, object := range objects {
		if !s.hasElement(object) || !may(object) {
			continue
		}
		if s.comesSecond(object, objects) {
			s.out.second++
			continue
		}
		if n++; s.draw(n) == 0 {
			ready = object
		}
	}
	return ready
}

// comesSecond reports whether there are elements of another channel that are taken before those of this one.
func (s *simulation) comesSecond(object int32, objects []int32) bool {
	return len(s.p.preferences) > 0 && slices.ContainsFunc(objects, func(other int32) bool {
		return s.p.preferences[preference{other, object}] && s.hasElement(other)
	})
}
