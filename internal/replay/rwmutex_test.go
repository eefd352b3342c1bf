package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// program is of goroutines that follow these lists once each, on so many processors, with one lock;
// to wake up a processor takes 50 µs.
func program(procs int, lock model.ObjectKind, lists ...[]model.Op) *model.Program {
	p := &model.Program{
		Rec: &trace.Recording{End: 100 * ms, Procs: procs}, Sets: [][]int32{nil}, Points: []model.PointInfo{{Name: "done", Region: -1}},
		Objects: []model.ObjectInfo{{Kind: lock}}, Cross: 50_000, Swap: 300, Patience: 1000 * ms,
	}
	for _, ops := range lists {
		for i := range ops {
			ops[i].Late = -1
		}
		p.Lists, p.Ops = append(p.Lists, model.List{Serves: -1, Ops: ops}), p.Ops+len(ops)
	}
	return p
}

// TestWritersBarge has writers come to a lock again before the one that was woken for it, as to a
// sync.Mutex: handed from one to the next, it would take 50 µs each time.
func TestWritersBarge(t *testing.T) {
	p := program(4, model.ObjectRWMutex)
	for i := range int64(4) {
		p.Lists = append(p.Lists, model.List{Serves: -1, From: 1, To: 6, Ops: []model.Op{
			{Kind: model.OpRun, D: 1000 * i, Late: -1},
			{Kind: model.OpRun, D: 5000, Late: -1},
			{Kind: model.OpWriteLock, Late: -1},
			{Kind: model.OpRun, D: 1000, Late: -1},
			{Kind: model.OpWriteUnlock, Late: -1},
			{Kind: model.OpVisit, Late: -1},
		}})
	}
	p.Ops = 24
	o := sim.Simulate(p, sim.Change{}, 100*ms)
	if got := doubt.Period(o.Visits[0], 100*ms); !(got < 10_000) {
		t.Errorf("a visit each %.0f ns, want less than 10,000", got)
	}
}

// TestReadersBehindAWriter: a writer waits for the readers that are in, and keeps others out.
func TestReadersBehindAWriter(t *testing.T) {
	o := sim.Simulate(program(
		4, model.ObjectRWMutex,
		[]model.Op{{Kind: model.OpReadLock}, {Kind: model.OpOut, D: 5 * ms}, {Kind: model.OpReadUnlock}, {Kind: model.OpVisit}},
		[]model.Op{{Kind: model.OpRun, D: ms}, {Kind: model.OpWriteLock}, {Kind: model.OpOut, D: ms}, {Kind: model.OpWriteUnlock}, {Kind: model.OpVisit}},
		[]model.Op{{Kind: model.OpRun, D: 2 * ms}, {Kind: model.OpReadLock}, {Kind: model.OpReadUnlock}, {Kind: model.OpVisit}},
	), sim.Change{}, 100*ms)
	for i, want := range []int64{5 * ms, 6 * ms, 6 * ms} {
		if got := o.Visits[0]; len(got) != 3 || got[i] < want || got[i] > want+ms/2 {
			t.Fatalf("visits at %d, want them at 5, 6 and 6 ms", got)
		}
	}
}

// TestStarvingLockIsHandedOverWithItsProcessor: a goroutine that has waited for 11 ms gets a lock
// together with the processor of the one that gives it back, which computes for 4 ms more.
func TestStarvingLockIsHandedOverWithItsProcessor(t *testing.T) {
	for name, lock := range map[string]struct {
		kind         model.ObjectKind
		lock, unlock model.OpKind
	}{"Mutex": {model.ObjectMutex, model.OpLock, model.OpUnlock}, "RWMutex": {model.ObjectRWMutex, model.OpWriteLock, model.OpWriteUnlock}} {
		o := sim.Simulate(program(
			1, lock.kind,
			[]model.Op{{Kind: lock.lock}, {Kind: model.OpOut, D: 5 * ms}, {Kind: lock.unlock}, {Kind: model.OpRun, D: ms}, {Kind: lock.lock}, {Kind: model.OpOut, D: 5 * ms}, {Kind: lock.unlock}, {Kind: model.OpRun, D: 4 * ms}, {Kind: model.OpVisit}},
			[]model.Op{{Kind: model.OpRun, D: ms / 10}, {Kind: lock.lock}, {Kind: lock.unlock}, {Kind: model.OpVisit}},
		), sim.Change{}, 100*ms)
		if got := o.Visits[0]; len(got) != 2 || got[0] > 12*ms {
			t.Errorf("%s: visits at %d, want the first one at 11 ms", name, got)
		}
	}
}
