package cond

import (
	"slices"
	"strings"

	"github.com/otelprof/otelprof/internal/replay/model"
)

// Gather finds the waits of a WaitGroup for goroutines that the waiting one has started itself. A
// stock trace has only which of them was the last; in the replay any of them may be.
func Gather(p *model.Program) {
	wakers := wakers(p)
	joins := make([]int8, len(p.Rec.Sites))
	var found []inquiry
	for l := range p.Lists {
		var started []int32 // since the last such wait
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			switch {
			case o.Kind == model.OpSpawn:
				started = append(started, o.Arg)
			case o.Kind == model.OpWait && isJoin(p, joins, o.Site):
				w := wakers[o.Arg]
				if w.List < 0 {
					continue
				}
				last := &p.Lists[w.List]
				if !last.Ended || !last.Born || last.Spawned.List != int32(l) {
					continue
				}
				for _, c := range started {
					child := &p.Lists[c]
					if child.Ended && len(child.Ops) > 0 && child.Ops[len(child.Ops)-1].At <= o.At+lastSteps {
						child.Gathered, p.Inferred = true, true
					}
				}
				if !last.Gathered {
					continue
				}
				wake := p.Op(w)
				wake.Kind, wake.D = model.OpRun, 0
				o.Kind, o.Arg = model.OpGather, 0
				started = slices.DeleteFunc(started, func(c int32) bool { return !p.Lists[c].Gathered })
				found = append(found, inquiry{list: int32(l), started: started, waits: []answerWait{{int32(k), w}}})
				started = nil
			}
		}
	}
	for _, group := range together(p, found) {
		gatherUnseen(p, found, group, 0)
	}
	if p.Rec.Uses(ruleQuorum) {
		gatherAnswers(p, wakers)
	}
}

// wakers returns the op that gives each token, in list -1 if that is not in the recording.
func wakers(p *model.Program) []model.Place {
	all := slices.Repeat([]model.Place{{List: -1, Op: -1}}, int(p.Tokens))
	for l := range p.Lists {
		for k := range p.Lists[l].Ops {
			if o := &p.Lists[l].Ops[k]; o.Kind == model.OpWake {
				all[o.Arg] = model.Place{List: int32(l), Op: int32(k)}
			}
		}
	}
	return all
}

// lastSteps is for how long a goroutine may go on once it has reported that it is done, ns.
const lastSteps = 100_000

// isJoin reports whether goroutines wait for a WaitGroup at a site.
func isJoin(p *model.Program, known []int8, site int32) bool {
	if known[site] == 0 {
		known[site] = -1
		for i, f := range p.Rec.Sites[site].Frames {
			if i < 4 && strings.HasPrefix(f.Func, "sync.(*WaitGroup).Wait") {
				known[site] = 1
			}
		}
	}
	return known[site] > 0
}
