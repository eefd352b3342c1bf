package replay

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
	"github.com/otelprof/otelprof/internal/testutil"
)

// A worker of the garbage collector on an idle processor computes, but has no processor: the next
// goroutine that is ready takes that. In the program it waits outside for so long.
func TestIdleCollector(t *testing.T) {
	live := make([]*[8]*int, 300_000) // which takes some ms to mark
	for i := range live {
		live[i] = new([8]*int)
	}
	rec, err := trace.Read(bytes.NewReader(traceDuring(t, func() {
		for range 5 {
			runtime.GC()
		}
	})))
	runtime.KeepAlive(live)
	if err != nil {
		t.Fatal(err)
	}
	if rec.Collected <= 0 || rec.Collected > 1 {
		t.Errorf("garbage was collected for %v of the time", rec.Collected)
	}
	b := model.NewBuilder(rec)
	last := make([]trace.Event, rec.Count)
	idle, ran := map[int32]int64{}, map[int32]int64{}
	for e := range rec.All() {
		b.Event(e)
		switch last[e.G].Kind {
		case trace.EvIdle:
			idle[e.G] += e.At - last[e.G].At
			ran[e.G] += e.At - last[e.G].At
		case trace.EvStart:
			ran[e.G] += e.At - last[e.G].At
		}
		last[e.G] = *e
	}
	if len(idle) == 0 {
		testutil.Lacks(t, "PROCESSORS", "no processor was idle while garbage was collected")
	}
	for g, d := range idle {
		computes := int64(0)
		for _, o := range b.P.Lists[g].Ops {
			if o.Kind == model.OpRun {
				computes += o.D
			}
		}
		if computes > ran[g]-d/2 {
			t.Errorf("goroutine %d ran for %d ns, %d of that on an idle processor: it needs one for %d ns", g, ran[g], d, computes)
		}
	}
}

// What is collected is done for requests, so that a faster program has no less of it for each.
func TestGarbage(t *testing.T) {
	if less, more := garbage(0.1, 0.5); less != 0.05 || more != 0 {
		t.Errorf("%v less and %v more, want 0.05 less", less, more)
	}
	if less, more := garbage(0.1, -0.5); less != 0 || more != 0.05 {
		t.Errorf("%v less and %v more of a slower program, want 0.05 more", less, more)
	}
}
