package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Two goroutines compute for inside under a lock and for outside without it, each on its processor;
// to wake one up takes 50 µs.
func takingTurns(outside, inside, first int64) *model.Program {
	turns := func(first int64) model.List {
		return model.List{Serves: -1, From: 1, To: 6, Ops: []model.Op{
			{Kind: model.OpRun, D: first, Late: -1},
			{Kind: model.OpRun, D: outside, Late: -1},
			{Kind: model.OpLock, Late: -1},
			{Kind: model.OpRun, D: inside, Late: -1},
			{Kind: model.OpUnlock, Late: -1},
			{Kind: model.OpVisit, Late: -1},
		}}
	}
	return &model.Program{
		Rec: &trace.Recording{End: 100 * ms, Procs: 2}, Sets: [][]int32{nil}, Points: []model.PointInfo{{Name: "done", Region: -1}},
		Objects: []model.ObjectInfo{{Kind: model.ObjectMutex}}, Cross: 50_000, Swap: 300, Patience: ms * 1000, Ops: 12,
		Lists: []model.List{turns(0), turns(first)},
	}
}

// TestSpins has goroutines that come up to 3 µs before a lock is free get it without a wait, and
// earlier ones wait for a processor that has to be woken up: then the other one finds the lock
// taken, again and again.
func TestSpins(t *testing.T) {
	for name, tc := range map[string]struct {
		outside, inside, first int64
		roused                 bool
		period                 float64 // at most
	}{
		"just before":     {100_000, 100_000, 98_000, false, 101_000},
		"before":          {100_000, 100_000, 60_000, true, 151_000},
		"time to recover": {160_000, 100_000, 60_000, false, 131_000},
	} {
		t.Run(name, func(t *testing.T) {
			o := sim.Simulate(takingTurns(tc.outside, tc.inside, tc.first), sim.Change{}, 100*ms)
			if got := doubt.Period(o.Visits[0], 100*ms); got > tc.period || tc.roused && got < tc.period-5_000 {
				t.Errorf("a visit each %.0f ns, want about %.0f", got, tc.period)
			}
			if roused := o.Roused > 10; roused != tc.roused {
				t.Errorf("%d processors were woken up, want many: %t", o.Roused, tc.roused)
			}
		})
	}
}
