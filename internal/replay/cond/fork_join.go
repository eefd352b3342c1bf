package cond

import (
	"slices"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Gather finds fork-join: waits of a WaitGroup for goroutines that the waiting one has started
// itself, by wg.Go, an errgroup or a go statement with wg.Done. A stock trace has only which of
// them was the last; in the replay any of them may be.
//
//	parent  start A, B, C |~~~~~~~~ wg.Wait ~~~~~~~~|
//	A       ====.                                   ^ recorded: B wakes the parent
//	B       ========================================. 5 ms
//	C       ================================.         4 ms
//
// Kept as a wait for B, the parent would be done 2.5 ms earlier with B twice as fast. It has to
// wait for C then: 1 ms is all.
//
// The principle is the contract of sync.WaitGroup (sync/waitgroup.go): Add ends all waits when the
// counter becomes 0, and Go calls Done as its last step. The end of a goroutine therefore stands
// for its Done, if it ends within lastSteps behind it. When that is wrong:
//
//   - A goroutine goes on for longer after Done, or another goroutine than the one that starts them
//     waits: the wait stays one for the goroutine that was last.
//   - A goroutine that the group does not count (a logger, for example) ends before the wait does:
//     it is counted too, which changes an answer only where it becomes the last one.
//
// TestQuorum holds it ("a WaitGroup"). Rounds in which all others were done before the goroutine
// came to Wait leave no trace of it: gatherUnseen adds them. Answers by channels are in quorum.go;
// Gather calls that rule, so that without fork_join there is neither.
func Gather(p *model.Program) {
	wakers, joins := p.Wakers(), trace.BySite(p.Rec.Sites, trace.Site.Joins)
	var found []inquiry
	for l := range p.Lists {
		var started []int32 // since the last such wait
		for k := range p.Lists[l].Ops {
			o := &p.Lists[l].Ops[k]
			switch {
			case o.Kind == model.OpSpawn:
				started = append(started, o.Arg)
			case o.Kind == model.OpWait && joins[o.Site]:
				w := wakers[o.Arg]
				// The wait is of a join if what ended it is the end of a goroutine that this list
				// has started: else another one's Done was last, and how many it counts is not
				// known.
				if w.List < 0 {
					continue
				}
				last := &p.Lists[w.List]
				if !last.Ended || !last.Born || last.Spawned.List != int32(l) {
					continue
				}
				// All that were over by now are of the group. One that goes on was started for
				// something else, as a server is.
				for _, c := range started {
					child := &p.Lists[c]
					if child.Ended && len(child.Ops) > 0 && child.Ops[len(child.Ops)-1].At <= o.At+lastSteps {
						child.Gathered, p.Inferred = true, true
					}
				}
				// It went on for longer than lastSteps after its Done: its end is no landmark.
				if !last.Gathered {
					continue
				}
				// The wake-up of the last one takes no time any more, and the wait is one for the
				// ends of all that are Gathered; Arg is how many may be missing.
				wake := p.Op(w)
				wake.Kind, wake.D = model.OpRun, 0
				o.Kind, o.Arg = model.OpGather, 0
				started = slices.DeleteFunc(started, func(c int32) bool { return !p.Lists[c].Gathered })
				found = append(found, inquiry{list: int32(l), started: started, waits: []answerWait{{int32(k), w}}})
				started = nil
			}
		}
	}
	// Rounds in which the parent came last have no wait in the trace, but in the replay it may have
	// to wait: by the habit of the other rounds.
	for _, group := range together(p, found) {
		gatherUnseen(p, found, group, 0)
	}
	if p.Rec.Uses(ruleQuorum) {
		gatherAnswers(p, wakers)
	}
}

// lastSteps is for how long a goroutine may go on once it has reported that it is done, ns: the
// return from deferred calls, and the wake-up itself. Longer work behind it is not part of what is
// waited for; were the constant larger, the replay would wait for that work, too.
const lastSteps = 100_000
