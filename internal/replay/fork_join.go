package replay

import (
	"slices"
	"strings"
)

// gather finds the waits of a WaitGroup for goroutines that the waiting one has started itself. A stock trace has only which of
// them was the last; in the replay any of them may be.
func (p *program) gather() {
	wakers := p.wakers()
	joins := make([]int8, len(p.rec.sites))
	var found []inquiry
	for l := range p.lists {
		var started []int32 // since the last such wait
		for k := range p.lists[l].ops {
			o := &p.lists[l].ops[k]
			switch {
			case o.kind == opSpawn:
				started = append(started, o.arg)
			case o.kind == opWait && p.isJoin(joins, o.site):
				w := wakers[o.arg]
				if w.list < 0 {
					continue
				}
				last := &p.lists[w.list]
				if !last.ended || !last.born || last.spawned.list != int32(l) {
					continue
				}
				for _, c := range started {
					child := &p.lists[c]
					if child.ended && len(child.ops) > 0 && child.ops[len(child.ops)-1].at <= o.at+lastSteps {
						child.gathered, p.inferred = true, true
					}
				}
				if !last.gathered {
					continue
				}
				wake := p.op(w)
				wake.kind, wake.d = opRun, 0
				o.kind, o.arg = opGather, 0
				started = slices.DeleteFunc(started, func(c int32) bool { return !p.lists[c].gathered })
				found = append(found, inquiry{list: int32(l), started: started, waits: []answerWait{{int32(k), w}}})
				started = nil
			}
		}
	}
	for _, group := range p.together(found) {
		p.gatherUnseen(found, group, 0)
	}
	p.gatherAnswers(wakers)
}

// wakers returns the op that gives each token, in list -1 if that is not in the recording.
func (p *program) wakers() []place {
	all := slices.Repeat([]place{{-1, -1}}, int(p.tokens))
	for l := range p.lists {
		for k := range p.lists[l].ops {
			if o := &p.lists[l].ops[k]; o.kind == opWake {
				all[o.arg] = place{int32(l), int32(k)}
			}
		}
	}
	return all
}

// lastSteps is for how long a goroutine may go on once it has reported that it is done, ns.
const lastSteps = 100_000

// isJoin reports whether goroutines wait for a WaitGroup at a site.
func (p *program) isJoin(known []int8, site int32) bool {
	if known[site] == 0 {
		known[site] = -1
		for i, f := range p.rec.sites[site].Frames {
			if i < 4 && strings.HasPrefix(f.Func, "sync.(*WaitGroup).Wait") {
				known[site] = 1
			}
		}
	}
	return known[site] > 0
}
