package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// kept records a client that calls over a kept connection: it sends its request to the connection's
// reader by a channel that belongs to the connection, and gets the answer by one that belongs to
// the call. An answer takes 2 ms, and 1 ms later comes the next call. With full the client waits
// for room each time. Without network the reader waits for something else.
func kept(t *testing.T, network, full bool) *trace.Recording {
	t.Helper()
	const calls, client, reader = 100, 1, 2
	b := trace.NewRecorder(0, 2)
	for _, f := range []string{"main.call", "main.read", "main.think", "main.send"} {
		b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: f}}})
	}
	waits := func(at, g int64, site int32, reason int32) {
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
	}
	reason := int32(trace.WaitNetwork)
	if !network {
		reason = trace.WaitOther
	}
	b.Running(0, client)
	b.Waiting(0, reader)
	for i := range int64(calls) {
		at := 3 * ms * i
		b.Open(at+1, client, uint64(i+1), 0, trace.Region{Name: "call"})
		if full {
			b.Operate(at+2, client, 'S', 7, 1)
			waits(at+3, client, 4, trace.WaitSend)
			b.Ready(at+4, client, -1)
			b.Start(at+5, client, 0)
		}
		b.Operate(at+6, client, 's', 7, 1)
		b.Operate(at+7, client, 'Y', 0, 0)
		waits(at+8, client, 1, trace.WaitSelect)
		b.Ready(at+2*ms, reader, -1)
		b.Start(at+2*ms+1, reader, 1)
		b.Operate(at+2*ms+2, reader, 'r', 7, 1)
		b.Operate(at+2*ms+3, reader, 's', 1000+uint64(i), 0)
		b.Ready(at+2*ms+4, client, reader)
		b.Start(at+2*ms+5, client, 0)
		waits(at+2*ms+5, reader, 2, reason)
		b.Operate(at+2*ms+6, client, 'r', 1000+uint64(i), 0)
		b.Close(at+2*ms+7, client, uint64(i+1))
		b.Visit(at+2*ms+8, client, "done")
		waits(at+2*ms+9, client, 3, trace.WaitTimer)
		b.Ready(at+3*ms-1, client, -1)
		b.Start(at+3*ms, client, 0)
	}
	rec := recorded(t, b, 3*ms*calls)
	return rec
}

// TestPair distinguishes channels of one element, and of a connection, from channels whose order or
// room decides something.
func TestPair(t *testing.T) {
	for name, tc := range map[string]struct {
		network, full bool
		objects       int // operations that are left
	}{
		"of a connection":           {network: true},
		"of a goroutine":            {objects: 200},
		"of a connection, but full": {network: true, full: true, objects: 200},
		"of a goroutine, and full":  {full: true, objects: 200},
	} {
		t.Run(name, func(t *testing.T) {
			rec := kept(t, tc.network, tc.full)
			b := model.NewBuilder(rec)
			b.P.FindPoints()
			for i := range rec.Events {
				b.Event(&rec.Events[i])
			}
			infer.Finish(b)
			operations, waits := 0, 0
			for _, l := range b.P.Lists {
				for _, o := range l.Ops {
					switch o.Kind {
					case model.OpSend, model.OpReceive:
						operations++
					case model.OpWait:
						waits++
					}
				}
			}
			if operations != tc.objects || waits != (400-tc.objects)/2 {
				t.Errorf("%d operations and %d waits for goroutines, want %d and %d", operations, waits, tc.objects, (400-tc.objects)/2)
			}
			if base, _ := Predict(rec, "done"); base < 2.95*ms || base > 3.05*ms {
				t.Errorf("replayed with %v ns between visits, want 3 ms", base)
			}
		})
	}
}

// TestSinglesAreNoPool has two clients without spans that wait at one place for two answers each
// time, of a goroutine each, by channels of one element: whose element it is is known, and they are
// no servers that take elements of each other.
func TestSinglesAreNoPool(t *testing.T) {
	const clients, writer, reader = 2, 3, 4
	b := trace.NewRecorder(0, 2)
	for _, f := range []string{"main.call", "main.answer", "main.think"} {
		b.R.Sites = append(b.R.Sites, trace.Site{Frames: []trace.Frame{{Func: f}}})
	}
	waits := func(at, g int64, site, reason int32) {
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Site: site, Arg: reason})
	}
	for c := range int64(clients) {
		b.Waiting(0, c+1)
	}
	b.Waiting(0, writer)
	b.Waiting(0, reader)
	channel := uint64(1000)
	for turn := range int64(clients * 60) {
		client, at := turn%clients+1, 3*ms*turn+1
		b.Ready(at, client, -1)
		b.Start(at+1, client, 0)
		for i, by := range []int64{writer, reader} {
			then := at + int64(i+1)*ms
			b.Operate(then-ms+2, client, 'R', channel, 0)
			waits(then-ms+3, client, 1, trace.WaitReceive)
			b.Ready(then, by, -1)
			b.Start(then, by, 1)
			b.Operate(then, by, 's', channel, 0)
			b.Ready(then, client, by)
			b.Start(then+1, client, 0)
			waits(then+1, by, 2, trace.WaitTimer)
			b.Operate(then+2, client, 'r', channel, 0)
			channel++
		}
		b.Visit(at+2*ms+3, client, "done")
		waits(at+2*ms+4, client, 3, trace.WaitTimer)
	}
	p := infer.NewProgram(recorded(t, b, 3*ms*clients*60+2), true)
	if p.Inferred || len(p.Shared) > 0 {
		t.Errorf("inferred: %t, %d objects, want none", p.Inferred, len(p.Shared))
	}
	if base, _ := Predict(p.Rec, "done"); base < 2.95*ms || base > 3.05*ms {
		t.Errorf("replayed with %v ns between visits, want 3 ms", base)
	}
}

// TestSetAside takes locks out of the lists that hardly anything is done under.
func TestSetAside(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	const short, long = 5, 6
	for i := range int64(100) {
		at := i * ms
		b.Operate(at+10, 1, 'l', short, 0)
		b.Operate(at+20, 1, 'u', short, 0)
		b.Operate(at+30, 1, 'l', long, 0)
		b.Operate(at+100_000, 1, 'u', long, 0)
		b.Visit(at+100_001, 1, "done")
	}
	rec := recorded(t, b, 100*ms)
	var got []model.ObjectKind
	p := infer.NewProgram(rec, true)
	for _, o := range p.Lists[0].Ops {
		if o.IsLocking() {
			got = append(got, p.Objects[o.Arg].Kind)
			if o.Arg != 1 {
				t.Fatalf("lock %d is left, want the second one alone", o.Arg)
			}
		}
	}
	if len(got) != 200 {
		t.Errorf("%d operations on locks, want the 200 on the one that is held for a tenth of the time", len(got))
	}
}

// TestAddresses distinguishes objects that have one address.
func TestAddresses(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	for _, what := range []byte("slwgscs") { // a struct's first fields, and a channel in place of another one
		b.Operate(1, 1, mark.Op(what), 99, 1)
	}
	var got []int32
	for _, e := range b.R.Events[1:] {
		got = append(got, e.Ref)
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 3, 0, 4}, got); diff != "" {
		t.Errorf("objects, -want +got:\n%s", diff)
	}
}

// TestOver leaves out an operation that was done before the window by a goroutine that has yet to
// run.
func TestOver(t *testing.T) {
	for name, wakes := range map[string]bool{"done before": false, "done now": true} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 2)
			b.Waiting(0, 2)
			b.Runnable(0, 1)
			b.Start(10, 1, 0)
			b.Operate(20, 1, 's', 7, 0)
			if wakes {
				b.Ready(30, 2, 1)
				b.Start(40, 2, 1)
				b.Operate(50, 2, 'r', 7, 0)
			}
			b.Visit(60, 1, "done")
			rec := recorded(t, b, ms)
			done := 0
			for _, l := range infer.NewProgram(rec, false).Lists {
				for _, o := range l.Ops {
					if o.Kind == model.OpSend || o.Kind == model.OpWake {
						done++
					}
				}
			}
			if (done > 0) != wakes {
				t.Errorf("%d sends, want any: %t", done, wakes)
			}
		})
	}
}

// TestServingListGoesOn has the work of each of two elements be done, though the list where they
// are begins anew between them.
func TestServingListGoesOn(t *testing.T) {
	p := &model.Program{
		Rec: &trace.Recording{End: 100 * ms, Procs: 1}, Sets: [][]int32{nil}, Points: []model.PointInfo{{Name: "first", Region: -1}, {Name: "second", Region: -1}},
		Objects:  []model.ObjectInfo{{Kind: model.ObjectChan, Capacity: 1}},
		Segments: []model.Place{{}, {List: 1, Op: 0}, {List: 1, Op: 3}}, Answers: make([]model.Place, 3), Patience: ms * 1000, Ops: 10,
		Lists: []model.List{
			{Serves: -1, To: 4, Ops: []model.Op{{Kind: model.OpOut, D: ms}, {Kind: model.OpSend, Segment: 1}, {Kind: model.OpOut, D: ms}, {Kind: model.OpSend, Segment: 2}}},
			{From: 1, To: 4, Ops: []model.Op{
				{Kind: model.OpReceive, Head: true},
				{Kind: model.OpRun, D: 1000},
				{Kind: model.OpVisit},
				{Kind: model.OpReceive, Head: true},
				{Kind: model.OpRun, D: 1000},
				{Kind: model.OpVisit, Arg: 1},
			}},
		},
	}
	o := sim.Simulate(p, sim.Change{}, 100*ms)
	if n, m := len(o.Visits[0]), len(o.Visits[1]); n < 48 || n > 51 || m < 48 || m > 51 {
		t.Errorf("work was done %d and %d times, want 50 times each", n, m)
	}
}

// TestOwnLocksAreSetAside takes the lock of each connection of a pool for one that nothing else can
// want: the next request may have another connection than in the recording, but never one that is
// in use. A lock that goroutines do come to at any time stays, and so does one that they share and
// come to in turns.
func TestOwnLocksAreSetAside(t *testing.T) {
	for name, tc := range map[string]struct {
		waits bool
		turns bool
		each  int // how often a request takes the lock behind one that it alone has
		locks int // operations that are left
	}{
		"of connections":  {},
		"and of requests": {each: 11},
		"of all who come": {waits: true, locks: 2 * 2 * 100},
		"in turns":        {turns: true, locks: 2 * 2 * 100},
	} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 2)
			for g := range int64(2) {
				b.Running(0, g)
			}
			for i := range int64(100) {
				at := i * ms
				if tc.turns {
					for g := range int64(2) {
						b.Operate(at+g*ms/2+1, g, 'l', 1, 0)
						b.Operate(at+g*ms/2+ms/3, g, 'u', 1, 0)
					}
					b.Visit(at+ms-10, 0, "done")
					continue
				}
				for g := range int64(2) { // the two locks in turns, or both one
					lock := uint64(1 + (g+i)%2)
					if !tc.waits {
						b.Operate(at+g+1, g, 'l', lock, 0)
						for range tc.each { // behind what is there once
							own := uint64(10 + 2*i + g)
							b.Operate(at+g+1, g, 'u', lock, 0)
							b.Operate(at+g+1, g, 'l', own, 0)
							b.Operate(at+g+1, g, 'u', own, 0)
							b.Operate(at+g+1, g, 'l', lock, 0)
						}
						continue
					}
					lock = 1
					if g > 0 {
						b.Operate(at+5, g, 'L', lock, 0)
						b.Wait(at+6, g, 1)
						break
					}
					b.Operate(at+1, g, 'l', lock, 0)
				}
				if tc.waits {
					b.Operate(at+ms/3, 0, 'u', 1, 0)
					b.Ready(at+ms/3+1, 1, 0)
					b.Start(at+ms/3+2, 1, 1)
					b.Operate(at+ms/3+3, 1, 'l', 1, 0)
					b.Operate(at+2*ms/3, 1, 'u', 1, 0)
				} else {
					for g := range int64(2) {
						b.Operate(at+2*ms/3+g, g, 'u', uint64(1+(g+i)%2), 0)
					}
				}
				b.Visit(at+ms-10, 0, "done")
			}
			left := 0
			for _, l := range infer.NewProgram(recorded(t, b, 100*ms), true).Lists {
				for _, o := range l.Ops {
					if o.IsLocking() {
						left++
					}
				}
			}
			if left != tc.locks {
				t.Errorf("%d operations on locks are left, want %d", left, tc.locks)
			}
		})
	}
}

// TestRepliesOfAConnection has two clients meet the reader of a connection that both use, each for
// itself: it signals to each that the end of its answer has been read, by a channel of the
// connection without room, when the client has signalled so.
func TestRepliesOfAConnection(t *testing.T) {
	const reader, told = 3, 7
	for name, tc := range map[string]struct {
		asks bool
		left int
	}{
		"who has asked": {asks: true},
		"who comes":     {left: 120},
	} {
		t.Run(name, func(t *testing.T) {
			b := trace.NewRecorder(0, 4)
			b.Running(0, 1)
			b.Running(0, 2)
			b.Running(0, reader)
			for i := range int64(60) {
				at, client := i*ms, 1+i%2
				if tc.asks {
					b.Operate(at+10, client, 's', 100+uint64(i), 2)
					b.Operate(at+20, reader, 'r', 100+uint64(i), 2)
				}
				b.Operate(at+30, reader, 's', told, 0)
				b.Operate(at+40, client, 'r', told, 0)
				b.Visit(at+50, client, "done")
			}
			left := 0
			for _, l := range infer.NewProgram(recorded(t, b, 60*ms), true).Lists {
				for _, o := range l.Ops {
					if o.Kind == model.OpSend || o.Kind == model.OpReceive {
						left++
					}
				}
			}
			if left != tc.left {
				t.Errorf("%d operations on channels are left, want %d", left, tc.left)
			}
		})
	}
}

// TestElementForOneWhoWaitedBefore has a goroutine send to a channel of one element that nothing
// else in the window shows, and go on for ever: the second time round it would find the channel
// full.
func TestElementForOneWhoWaitedBefore(t *testing.T) {
	b := trace.NewRecorder(0, 2)
	b.Running(0, 1)
	at := int64(1000)
	for turn := range 100 {
		b.Open(at, 1, uint64(turn), 0, trace.Region{Name: "work"})
		b.Wait(at+1, 1, trace.WaitTimer)
		at += 2 * ms
		b.Ready(at, 1, -1)
		b.Start(at+10, 1, 0)
		b.Close(at+20, 1, uint64(turn))
		if turn == 95 {
			b.Operate(at+30, 1, 's', 7, 1)
		}
		b.Visit(at+40, 1, "done")
		at += 100
	}
	rec := recorded(t, b, at)
	if before, after := Predict(rec, "done", Speedup{trace.Region{Name: "work"}, 0.95}); !isNear(after/before, 0.05, 0.01) {
		t.Errorf("work 95 %% faster takes %.3f of the time between visits, want 0.05", after/before)
	}
}
