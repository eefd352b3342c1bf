package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

const (
	asker  = 1
	server = 2
)

// An asking records a goroutine that asks a server and waits for the answer in a select statement.
type asking struct {
	*trace.Recorder
	now, id int64
}

// sleeps has a goroutine wait for a timer until a time.
func (a *asking) sleeps(g, until int64, site int32) {
	a.waits(g, site, trace.WaitTimer)
	a.Ready(until, g, -1)
	a.Start(until+1, g, g-1)
	a.now = until + 1
}

func (a *asking) waits(g int64, site, reason int32) {
	a.now++
	a.Add(trace.Event{Kind: trace.EvWait, At: a.now, G: a.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
}

func (a *asking) operates(g int64, what mark.Op, object uint64) {
	a.now++
	a.Operate(a.now, g, what, object, 1)
}

const (
	asked    = 70
	answered = 60
)

// asks has the server work for d. If that is longer than 5 ms, the asker does something else for 2
// ms when the time is over, waits for the answer and then for 2 ms more. It ends with a visit 1 ms
// later.
func (a *asking) asks(d int64) {
	began := a.now
	a.operates(asker, 's', asked)
	a.now++
	a.Ready(a.now, server, asker)
	a.operates(asker, 'Y', 0)
	a.waits(asker, 1, trace.WaitSelect)
	a.now++
	a.Start(a.now, server, 1)
	a.operates(server, 'r', asked)
	a.id++
	a.now++
	a.Open(a.now, server, uint64(a.id), 0, trace.Region{Name: "serve"})
	a.waits(server, 2, trace.WaitTimer)
	late := d > 5*ms
	if late {
		a.now = began + 5*ms
		a.Ready(a.now, asker, -1)
		a.now++
		a.Start(a.now, asker, 0)
		a.sleeps(asker, began+7*ms, 5)
		a.operates(asker, 'R', answered)
		a.waits(asker, 6, trace.WaitReceive)
	}
	a.now = began + d
	a.Ready(a.now, server, -1)
	a.now++
	a.Start(a.now, server, 1)
	a.now++
	a.Close(a.now, server, uint64(a.id))
	a.operates(server, 's', answered)
	a.now++
	a.Ready(a.now, asker, server)
	a.operates(server, 'R', asked)
	a.waits(server, 3, trace.WaitReceive)
	a.now++
	a.Start(a.now, asker, 0)
	a.operates(asker, 'r', answered)
	a.now++
	if late {
		a.sleeps(asker, a.now+2*ms, 7)
	}
	a.sleeps(asker, a.now+ms, 4)
	a.now++
	a.Visit(a.now, asker, "done")
}

func (a *asking) recording(t *testing.T) *trace.Recording {
	t.Helper()
	rec := recorded(t, a.Recorder, a.now+10)
	return rec
}

func newAsking() *asking {
	a := &asking{Recorder: trace.NewRecorder(0, 4)}
	for _, f := range []string{"main.choose", "main.serve", "main.next", "main.think", "main.meanwhile", "main.late", "main.more", "main.wait", "main.help"} {
		a.R.Sites = append(a.R.Sites, trace.Site{Frames: []trace.Frame{{Func: f}}})
	}
	a.Running(0, asker)
	a.Waiting(0, server)
	return a
}

// faster returns by which part the time between visits shrinks if "serve" takes half as long, the
// outcomes of nothing changed and of that.
func faster(t *testing.T, rec *trace.Recording) (reduction float64, base, half sim.Outcome) {
	t.Helper()
	p := infer.NewProgram(rec, true)
	d := rec.End - rec.Start
	base = sim.Simulate(p, sim.Change{}, d)
	if missed := doubt.Misses(p, &base, d); missed > doubt.MaxDeviation {
		t.Fatalf("nothing changed misses the recording by %.1f %%", 100*missed)
	}
	half = sim.Simulate(p, sim.Change{Factors: map[int32]float64{0: 0.5}}, d)
	return 1 - doubt.Period(half.Visits[0], d)/doubt.Period(base.Visits[0], d), base, half
}

// A server that answered within the time has its client do what it did for answered that came in
// time, not what it did when the time was over.
func TestAnElementBeforeTheTimerIsTaken(t *testing.T) {
	a := newAsking()
	for i := range int64(60) {
		a.asks([]int64{3, 9}[i%2] * ms)
	}
	got, base, half := faster(t, a.recording(t))
	// Recorded: 4 ms and 12 ms. With half the work: 2.5 ms and 5.5 ms; with the recorded branches
	// 2.5 ms and 10 ms.
	if want := 1 - 8.0/16; !isNear(got, want, 0.02) {
		t.Errorf("twice as fast a server: %.3f less time between visits, want %.3f", got, want)
	}
	if x := half.Straying(&base); x != 0 {
		t.Errorf("%.3f of the select statements had no example, want none", x)
	}
}

// A goroutine that waits for another one by what has no marks cannot go on elsewhere: what would
// end otherwise is counted.
func TestAnEndWithoutAnExampleIsCounted(t *testing.T) {
	a := newAsking()
	const helper = 3
	a.Waiting(0, helper)
	for i := range int64(60) {
		a.asks([]int64{3, 9}[i%2] * ms)
		a.waits(asker, 8, trace.WaitOther)
		a.now += ms
		a.Ready(a.now, helper, -1)
		a.now++
		a.Start(a.now, helper, 1)
		a.now++
		a.Ready(a.now, asker, helper)
		a.waits(helper, 9, trace.WaitTimer)
		a.now++
		a.Start(a.now, asker, 0)
	}
	_, base, half := faster(t, a.recording(t))
	if x := half.Straying(&base); x < sim.MostStrayed {
		t.Errorf("%.3f of the select statements had no example, want more than %.3f", x, sim.MostStrayed)
	}
}

// Spans that begin here and end on another goroutine are not open for ever.
func TestChoicesBehindSpansThatEndElsewhere(t *testing.T) {
	a := newAsking()
	a.RegionOf(trace.Region{Name: "serve"}) // stays region 0
	const ender = 3
	a.Running(0, ender)
	for i := range int64(60) {
		id := uint64(1000 + i)
		a.now++
		a.Open(a.now, asker, id, 0, trace.Region{Name: "job"})
		a.now++
		a.Close(a.now, ender, id)
		a.asks([]int64{3, 9}[i%2] * ms)
	}
	p := infer.NewProgram(a.recording(t), true)
	if len(p.Choices) == 0 {
		t.Fatal("no choices")
	}
	for i, c := range p.Choices {
		if len(c.Open) != 0 {
			t.Fatalf("choice %d has %d open spans, want none", i, len(c.Open))
		}
	}
}

// TestATimerThatIsOverIsReady: a batch is collected for 5 ms, and work on an element takes 6. The
// goroutine comes to a timer that is over, and keeps its processor, while another one is ready.
func TestATimerThatIsOverIsReady(t *testing.T) {
	p := program(
		1, model.ObjectChan,
		[]model.Op{
			{Kind: model.OpChoose, Arg: 0},
			{Kind: model.OpReceive, Row: true},
			{Kind: model.OpRun, D: 6 * ms},
			{Kind: model.OpChoose, Arg: 1},
			{Kind: model.OpOut, D: ms, Reason: trace.WaitSelect},
			{Kind: model.OpVisit},
		},
		[]model.Op{{Kind: model.OpRun, D: 5 * ms}},
	)
	p.Objects[0].Count, p.Objects[0].Capacity = 1, 1
	p.Statements = []model.Statement{{Limit: 5 * ms, Whole: true}}
	p.Choices = []model.Choice{
		{Op: 0, End: 1, Object: 0, Cases: []int32{0}, Made: trace.None},
		{Op: 3, End: 4, Object: trace.None, Cases: []int32{0}, Past: []int32{1}, Key: "r", Made: trace.None},
	}
	o := sim.Simulate(p, sim.Change{}, 100*ms)
	if got := o.Visits[0]; len(got) != 1 || got[0] != 6*ms {
		t.Errorf("visits at %d, want one at 6 ms", got)
	}
}
