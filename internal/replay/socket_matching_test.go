package replay

import (
	"cmp"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A caller records goroutines that call servers within the process by the network, without spans
// that show it.
type caller struct {
	*trace.Recorder
	events   []trace.Event
	backend  bool  // servers wait for another process, not for a timer
	bare     bool  // servers have no spans
	accepted int64 // goroutines so far, one for each connection
	late     bool  // one answer in nine is seen late
	called   int64
}

const (
	siteCall = iota + 1 // where a client waits for the answer
	siteServe
	siteSend // writes
	siteThink
	siteWork
	siteBackend
	siteAccept
	siteConnect
	siteHand
)

// acceptor is the goroutine that accepts connections.
const acceptor = 99

func newCaller(clients, servers int64) *caller {
	c := &caller{Recorder: trace.NewRecorder(0, 16)}
	for _, frames := range [][]trace.Frame{
		{{Func: "internal/poll.(*FD).Read"}, {Func: "net.(*netFD).Read"}, {Func: "main.call"}},
		{{Func: "internal/poll.(*FD).Read"}, {Func: "net.(*netFD).Read"}, {Func: "main.serve"}},
		{{Func: "syscall.write"}, {Func: "internal/poll.(*FD).Write"}, {Func: "net.(*netFD).Write"}, {Func: "main.send"}},
		{{Func: "time.Sleep"}, {Func: "main.think"}},
		{{Func: "time.Sleep"}, {Func: "main.work"}},
		{{Func: "internal/poll.(*FD).Read"}, {Func: "net.(*netFD).Read"}, {Func: "main.query"}, {Func: "main.serve"}},
		{{Func: "internal/poll.(*FD).Accept"}, {Func: "net.(*netFD).accept"}, {Func: "main.listen"}},
		{{Func: "syscall.connect"}, {Func: "syscall.Connect"}, {Func: "net.(*netFD).connect"}, {Func: "main.dial"}},
		{{Func: "runtime.chanrecv1"}, {Func: "main.call"}},
	} {
		c.R.Sites = append(c.R.Sites, trace.Site{Frames: frames})
	}
	for g := range clients {
		c.Running(0, g)
		c.by(g, 0, readerOf(g), trace.Event{Kind: trace.EvCreate, Site: siteConnect})
		c.starts(1000, readerOf(g))
		c.note(2000, readerOf(g), trace.Event{Kind: trace.EvWait, Site: siteCall, Arg: trace.WaitNetwork})
	}
	for g := range servers {
		c.Waiting(0, serverOf(g))
	}
	c.Waiting(0, acceptor)
	return c
}

func serverOf(n int64) int64 { return 100 + n }

func readerOf(n int64) int64 { return 200 + n }

// note adds an event at a time, in any order.
func (c *caller) note(at, g int64, e trace.Event) {
	e.At, e.G, e.By = at, c.Goroutine(g), trace.NoWaker
	c.events = append(c.events, e)
}

func (c *caller) waits(at, until, g int64, site, reason int32) {
	c.note(at, g, trace.Event{Kind: trace.EvWait, Site: site, Arg: reason})
	c.goesOn(until, g)
}

func (c *caller) goesOn(at, g int64) {
	c.note(at, g, trace.Event{Kind: trace.EvReady})
	c.starts(at+1000, g)
}

func (c *caller) starts(at, g int64) {
	c.note(at, g, trace.Event{Kind: trace.EvStart, Arg: int32(g % 16)})
}

// by adds an event that another goroutine brings about.
func (c *caller) by(other, at, g int64, e trace.Event) {
	c.note(at, g, e)
	c.events[len(c.events)-1].By = c.Waker(other)
}

// call has a client call a server, which works for so long, and returns when the client has the
// answer. It takes that from a goroutine that reads it, if there is one.
func (c *caller) call(at, client, reader, server, work int64, external bool) int64 {
	const way = 15_000
	region := c.RegionOf(trace.Region{Name: "call"})
	begins := func(at, g int64, region int32) (end func(at int64)) {
		ref := int32(len(c.R.Spans))
		c.R.Spans = append(c.R.Spans, trace.Span{Region: region, Parent: -1, Root: true})
		c.note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
		return func(at int64) { c.note(at, g, trace.Event{Kind: trace.EvClose, Ref: ref}) }
	}
	end := begins(at, client, region)
	c.note(at+1000, client, trace.Event{Kind: trace.EvSyscall, Site: siteSend})
	c.note(at+3000, client, trace.Event{Kind: trace.EvReturn, Arg: int32(client % 16)})
	came := at + 1000 + way
	answer := came + 5000 + work
	arrives := answer + way
	if c.called++; c.late && c.called%9 == 0 {
		arrives += 7 * ms / 10
	}
	if !external {
		c.goesOn(came, server)
		done := func(int64) {}
		if !c.bare {
			done = begins(came+2000, server, c.RegionOf(trace.Region{Name: "serve"}))
		}
		if c.backend {
			c.waits(came+3000, answer-2000, server, siteBackend, trace.WaitNetwork)
		} else {
			c.waits(came+3000, answer-2000, server, siteWork, trace.WaitTimer)
		}
		done(answer - 500)
		c.note(answer, server, trace.Event{Kind: trace.EvSyscall, Site: siteSend})
		c.note(answer+2000, server, trace.Event{Kind: trace.EvReturn, Arg: int32(server % 16)})
		c.note(answer+3000, server, trace.Event{Kind: trace.EvWait, Site: siteServe, Arg: trace.WaitNetwork})
	}
	if reader == client {
		c.waits(at+5000, arrives, client, siteCall, trace.WaitNetwork)
	} else {
		c.note(at+5000, client, trace.Event{Kind: trace.EvWait, Site: siteHand, Arg: trace.WaitOther})
		c.goesOn(arrives-4000, reader)
		c.by(reader, arrives, client, trace.Event{Kind: trace.EvReady, Site: siteHand})
		c.starts(arrives+1000, client)
		if c.accepted > 0 {
			c.note(arrives+1000, reader, trace.Event{Kind: trace.EvEnd})
		} else {
			c.note(arrives+1000, reader, trace.Event{Kind: trace.EvWait, Site: siteCall, Arg: trace.WaitNetwork})
		}
	}
	end(arrives + 2000)
	c.note(arrives+3000, client, trace.Event{Kind: trace.EvVisit, Ref: c.PointOf("done")})
	return arrives + 4000
}

// dial has a client open a connection, which a goroutine reads at each end from then on, and
// returns when both wait.
func (c *caller) dial(at, client int64) (ready, reader, server int64) {
	c.accepted++
	reader, server = 100_000+c.accepted, 1000+c.accepted
	c.note(at, client, trace.Event{Kind: trace.EvSyscall, Site: siteConnect})
	c.note(at+2000, client, trace.Event{Kind: trace.EvReturn, Arg: int32(client % 16)})
	c.goesOn(at+12_000, acceptor)
	c.by(client, at+13_000, reader, trace.Event{Kind: trace.EvCreate, Site: siteConnect})
	c.starts(at+14_000, reader)
	c.note(at+15_000, reader, trace.Event{Kind: trace.EvWait, Site: siteCall, Arg: trace.WaitNetwork})
	c.by(acceptor, at+14_000, server, trace.Event{Kind: trace.EvCreate, Site: siteAccept})
	c.note(at+16_000, acceptor, trace.Event{Kind: trace.EvWait, Site: siteAccept, Arg: trace.WaitNetwork})
	c.starts(at+17_000, server)
	c.note(at+18_000, server, trace.Event{Kind: trace.EvWait, Site: siteServe, Arg: trace.WaitNetwork})
	return at + 20_000, reader, server
}

func (c *caller) recording(t *testing.T, end int64) *trace.Recording {
	t.Helper()
	slices.SortStableFunc(c.events, func(a, b trace.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range c.events {
		if e.At < end {
			c.Add(e)
		}
	}
	return recorded(t, c.Recorder, end)
}

// TestWire infers from writes that a wait for the network is for a goroutine of the same process.
func TestWire(t *testing.T) {
	const clients = 4
	for name, tc := range map[string]struct {
		servers  int64 // 0 for those of another process
		pooled   bool
		external bool
		backend  bool
		bare     bool
		dials    bool
		reader   bool // another goroutine reads the connection
		late     bool
		short    bool // fewer than leastArrivals waits each
		quick    bool // servers take less than handed
		want     float64
	}{
		"a connection each":                 {servers: clients, want: 0.33},
		"a connection each, late wake-ups":  {servers: clients, late: true, want: 0.32},
		"late wake-ups in a short window":   {servers: clients, late: true, short: true, want: 0.32},
		"connections of all":                {servers: 6, pooled: true, want: 0.33},
		"to another process":                {servers: clients, external: true, want: 0},
		"some that are alone":               {servers: clients + 2, want: 0.33},
		"servers that ask another process":  {servers: clients, backend: true, want: 0.33},
		"a connection for each request":     {servers: clients, dials: true, want: 0.33},
		"servers without spans":             {servers: clients, bare: true, want: 0.33},
		"pooled servers without spans":      {servers: 6, pooled: true, bare: true, want: 0.33},
		"without spans, a connection each":  {servers: clients, bare: true, dials: true, want: 0.33},
		"without spans, by way of a reader": {servers: clients, bare: true, reader: true, want: 0.33},
		"without spans, quick":              {servers: clients, bare: true, dials: true, quick: true, want: 0.03},
		"by way of a reader":                {servers: clients, reader: true, want: 0.33},
		"to another process by way of one":  {servers: clients, reader: true, external: true, want: 0.33},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCaller(clients, tc.servers)
			c.backend, c.bare, c.late = tc.backend, tc.bare, tc.late
			end := int64(400 * ms)
			if tc.short {
				end = 50 * ms
			}
			random := uint64(1)
			draw := func(n int64) int64 {
				random = random*6364136223846793005 + 1442695040888963407
				return int64(random>>33) % n
			}
			now, busy := make([]int64, clients), make([]int64, tc.servers)
			for g := range now {
				now[g] = int64(g+1) * 100_000
			}
			for {
				g := int64(slices.Index(now, slices.Min(now)))
				if now[g] > end {
					break
				}
				server := g
				if tc.pooled {
					server = draw(tc.servers)
					for busy[server] > now[g] {
						server = (server + 1) % tc.servers
					}
				}
				ready, reader, by := now[g], g, serverOf(server)
				if tc.reader {
					reader = readerOf(g)
				}
				if tc.dials {
					ready, reader, by = c.dial(now[g], g)
				}
				takes := 3*ms/2 + draw(ms)
				if tc.quick {
					takes = 60_000 + draw(60_000)
				}
				at := c.call(ready, g, reader, by, takes, tc.external)
				if tc.dials {
					c.note(at, by, trace.Event{Kind: trace.EvEnd})
				}
				busy[server] = at
				now[g] = at + ms/2 + draw(ms) + 2000
				c.waits(at, now[g]-2000, g, siteThink, trace.WaitTimer)
			}
			rec := c.recording(t, end)
			p := infer.NewProgram(rec, true)
			d := rec.End - rec.Start
			base := sim.Simulate(p, sim.Change{}, d)
			if missed := doubt.Misses(p, &base, d); missed > doubt.MaxDeviation {
				t.Errorf("nothing changed misses the recording by %.1f %%", 100*missed)
			}
			if tc.external && !tc.reader {
				for _, l := range p.Lists {
					if slices.ContainsFunc(l.Ops, func(o model.Op) bool { return o.Kind == model.OpReceive || o.Kind == model.OpWait }) {
						t.Error("a wait for another process is taken for one for a goroutine")
					}
				}
				return
			}
			faster := trace.Region{Name: "serve"}
			if tc.external || tc.bare {
				faster.Name = "call"
			}
			a, b := Predict(rec, "done", Speedup{faster, 0.5})
			if got := 1 - b/a; !isNear(got, tc.want, 0.02) {
				t.Errorf("twice as fast a %s: %.3f less time between visits, want %.3f", faster.Name, got, tc.want)
			}
		})
	}
}
