package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
)

// TestACycleOfReceivesIsBroken has two goroutines wait each for what the other one sends behind
// that, beside a ticker, so that there is always something to happen.
func TestACycleOfReceivesIsBroken(t *testing.T) {
	p := program(2, model.ObjectChan)
	p.Objects = []model.ObjectInfo{{Kind: model.ObjectChan, Capacity: 1}, {Kind: model.ObjectChan, Capacity: 1}}
	p.Patience = 5 * ms
	side := func(from, to int32) model.List {
		return model.List{Serves: -1, To: 4, Visits: true, Ops: []model.Op{
			{Kind: model.OpReceive, Arg: from, Late: -1},
			{Kind: model.OpRun, D: ms, Late: -1},
			{Kind: model.OpSend, Arg: to, Late: -1},
			{Kind: model.OpVisit, Late: -1},
		}}
	}
	ticker := model.List{Serves: -1, To: 1, Ops: []model.Op{{Kind: model.OpOut, D: ms, Late: -1}}}
	p.Lists, p.Ops = []model.List{side(0, 1), side(1, 0), ticker}, 9
	o := sim.Simulate(p, sim.Change{}, 100*ms)
	if o.Broken == 0 || len(o.Visits[0]) < 10 {
		t.Errorf("%d waits given up, %d visits, want some and more", o.Broken, len(o.Visits[0]))
	}
}
