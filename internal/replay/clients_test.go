package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A service works for clients of another process. They share connections: a request takes the one
// that was idle last.
type service struct {
	clients int
	work    float64
	steady  bool // clients wait for about the same time between an answer and the next request
}

// run returns how many requests are answered. It records them if there is something to record with.
func (p *service) run(c *caller, end int64) (done int) {
	const siteRead, siteSleep = 1, 2
	if c == nil {
		c = &caller{Recorder: trace.NewRecorder(0, 16)}
	}
	c.R.Sites = append(c.R.Sites,
		trace.Site{Frames: []trace.Frame{{Func: "internal/poll.(*FD).Read"}, {Func: "net.(*conn).Read"}, {Func: "net/http.(*connReader).Read"}}},
		trace.Site{Frames: []trace.Frame{{Func: "time.Sleep"}, {Func: "main.sleep"}}})
	type happening struct {
		at         int64
		connection int64 // that an answer is given on, -1 where a client comes
	}
	var next []happening
	var idle []int64
	lengths, waits := rand.New(rand.NewPCG(1, 0)), rand.New(rand.NewPCG(2, 0))
	for n := range int64(p.clients) {
		idle = append(idle, n)
		c.Waiting(0, n)
		next = append(next, happening{(n + 1) * ms / 2, -1})
	}
	for {
		slices.SortFunc(next, func(a, b happening) int { return int(a.at - b.at) })
		x := next[0]
		if next = next[1:]; x.at >= end {
			return done
		}
		if x.connection < 0 {
			on := idle[len(idle)-1]
			idle = idle[:len(idle)-1]
			c.goesOn(x.at, on)
			d := int64(float64(2*ms+lengths.Int64N(4*ms)) * p.work)
			c.span(x.at+2000, x.at+2000+d, on, "work", siteSleep)
			next = append(next, happening{x.at + d + 5000, on})
			continue
		}
		done++
		c.note(x.at, x.connection, trace.Event{Kind: trace.EvWait, Site: siteRead, Arg: trace.WaitNetwork})
		idle = append(idle, x.connection)
		wait := 5*ms + waits.Int64N(ms/5)
		if !p.steady {
			wait = int64(waits.ExpFloat64() * 5 * ms)
		}
		next = append(next, happening{x.at + 100_000 + wait, -1})
	}
}

// TestClientsOfSharedConnections predicts what faster work brings where connections are idle for a
// shorter time than clients wait.
func TestClientsOfSharedConnections(t *testing.T) {
	const end = 1500 * ms
	for name, base := range map[string]service{
		"steady":    {clients: 8, work: 1, steady: true},
		"many":      {clients: 40, work: 1, steady: true},
		"irregular": {clients: 8, work: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := &caller{Recorder: trace.NewRecorder(0, 64)}
			was := base.run(c, end)
			rec := c.recording(t, end)
			faster := base
			faster.work = 0.1
			want := 1 - float64(was)/float64(faster.run(nil, end))
			p := infer.NewProgram(rec, true)
			known, open := doubt.ShareConnections(p)
			if base.steady {
				if known == nil {
					t.Fatal("it is not known how many clients there are")
				}
				if got := answer(rec, t, "work", "work", 0.9); !isNear(got, want, 0.02) {
					t.Errorf("work 90 %% faster: %.3f less time between visits, want %.3f", got, want)
				}
				return
			}
			if known != nil || open == nil {
				t.Fatalf("the number of clients is known: %v, bounded: %v; want it bounded", known != nil, open != nil)
			}
			changed := sim.Simulate(p, sim.Change{Factors: map[int32]float64{0: 0.1}}, end)
			most := 1 - doubt.Period(changed.Visits[0], end)/doubt.Period(simulatedVisits(p, end), end)
			o := sim.Simulate(open, sim.Change{Factors: map[int32]float64{0: 0.1}}, end)
			least := 1 - doubt.Period(o.Visits[0], end)/doubt.Period(simulatedVisits(open, end), end)
			if least > want || most < want {
				t.Errorf("work 90 %% faster: between %.3f and %.3f less time between visits, want %.3f between them", least, most, want)
			}
		})
	}
}

func simulatedVisits(p *model.Program, d int64) []int64 {
	o := sim.Simulate(p, sim.Change{}, d)
	return o.Visits[0]
}

// TestConnectionsOfTheirOwn leaves alone connections each of which has one client.
func TestConnectionsOfTheirOwn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all doubt.Traffic
	for connection := range int32(8) {
		answered := int64(0)
		for n := range int32(100) {
			came := answered + int64(random.ExpFloat64()*5*ms)
			all.Requests = append(all.Requests, doubt.Incoming{Since: answered, Came: came, At: model.Place{List: connection, Op: n}})
			answered = came + 2*ms + random.Int64N(4*ms)
			all.Answers = append(all.Answers, doubt.Outgoing{At: answered, Wait: model.Place{List: connection, Op: n + 1}})
		}
	}
	slices.SortFunc(all.Requests, func(a, b doubt.Incoming) int { return int(a.Came - b.Came) })
	slices.SortFunc(all.Answers, func(a, b doubt.Outgoing) int { return int(a.At - b.At) })
	rests := 0
	rec := &trace.Recording{Rest: func() error { rests++; return nil }}
	if thinking, _ := all.Clients(rec); thinking != 0 {
		t.Errorf("%d clients wait at first, want it unknown", thinking)
	}
	if want := len(all.Requests)/4 - 1; rests < want {
		t.Errorf("%d rests, want %d: one for each number of clients that is tried", rests, want)
	}
	if all.Shared(rec) {
		t.Error("clients share connections, want one for each")
	}
}
