package infer

import (
	"cmp"
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
)

const (
	// leastBoth is for how many receives there must have been elements of both channels.
	leastBoth = 20
	// markedWithin is how far the mark of an operation may be from when it took effect, ns.
	markedWithin = 20_000
)

// prefer finds the preferences among channels that one select statement receives from.
func prefer(p *model.Program, together [][]int32) {
	type flow struct{ sends, receives, taken []int64 }
	flows := map[int32]*flow{}
	for _, objects := range together {
		for _, object := range objects {
			flows[object] = &flow{}
		}
	}
	for i := range p.Lists {
		for k := range p.Lists[i].Ops {
			o := &p.Lists[i].Ops[k]
			f := flows[o.Arg]
			switch {
			case f == nil:
			case o.Kind == model.OpSend && o.Site != 0: // the element was there while its sender waited
				f.sends = append(f.sends, o.D)
			case o.Kind == model.OpSend:
				f.sends = append(f.sends, o.At)
			case o.Kind == model.OpReceive:
				f.receives = append(f.receives, o.At)
				if o.Site == 0 {
					f.taken = append(f.taken, o.At)
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
			if int(p.Objects[second].Count)+until(other.sends, at-markedWithin)-until(other.receives, at+markedWithin) > 0 {
				n++
			}
		}
		return n
	}
	p.Preferences = map[model.Preference]bool{}
	for _, objects := range together {
		for i, first := range objects {
			for _, second := range objects[i+1:] {
				a, b := both(first, second), both(second, first)
				switch {
				case a+b < leastBoth:
				case float64(a) >= model.Agreeing*float64(a+b):
					p.Preferences[model.Preference{First: first, Second: second}] = true
				case float64(b) >= model.Agreeing*float64(a+b):
					p.Preferences[model.Preference{First: second, Second: first}] = true
				}
			}
		}
	}
}
