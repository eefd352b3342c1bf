package replay

import "testing"

// Two goroutines compute for inside under a lock and for outside without it, each on its processor; to wake one up takes 50 µs.
func takingTurns(outside, inside, first int64) *program {
	turns := func(first int64) list {
		return list{serves: -1, from: 1, to: 6, ops: []op{
			{kind: opRun, d: first, late: -1},
			{kind: opRun, d: outside, late: -1},
			{kind: opLock, late: -1},
			{kind: opRun, d: inside, late: -1},
			{kind: opUnlock, late: -1},
			{kind: opVisit, late: -1},
		}}
	}
	return &program{
		rec: &Recording{End: 100 * ms, Procs: 2}, sets: [][]int32{nil}, points: []pointInfo{{"done", -1}},
		objects: []objectInfo{{kind: objectMutex}}, cross: 50_000, swap: 300, patience: ms * 1000, ops: 12,
		lists: []list{turns(0), turns(first)},
	}
}

// TestSpins has goroutines that come up to 3 µs before a lock is free get it without a wait, and earlier ones wait for a
// processor that has to be woken up: then the other one finds the lock taken, again and again.
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
			o := simulate(takingTurns(tc.outside, tc.inside, tc.first), change{}, 100*ms)
			if got := period(o.visits[0], 100*ms); got > tc.period || tc.roused && got < tc.period-5_000 {
				t.Errorf("a visit each %.0f ns, want about %.0f", got, tc.period)
			}
			if roused := o.roused > 10; roused != tc.roused {
				t.Errorf("%d processors were woken up, want many: %t", o.roused, tc.roused)
			}
		})
	}
}
