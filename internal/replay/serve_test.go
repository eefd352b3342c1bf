package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestPlacesOfTasks has a goroutine start four tasks of 2 ms, two at a time: it sends to a channel
// of two places before each of them, and the task receives when it is done, as in a group with a
// limit. No goroutine serves there.
func TestPlacesOfTasks(t *testing.T) {
	const (
		rounds = 100
		period = 5 * ms
	)
	b := trace.NewRecorder(0, 2)
	b.Running(0, 0)
	var all script
	for round := range int64(rounds) {
		begins := round*period + 10
		places, group := uint64(2*round+1), uint64(2*round+2)
		task := func(n int64) int64 { return 1 + 4*round + n }
		start := func(at, n int64) { // by the goroutine, once it has a place
			b.Operate(at, 0, 'g', group, 1)
			b.Create(at+1, task(n), 0)
		}
		work := func(at, n int64) {
			b.Start(at, task(n), 1)
			b.Open(at+1, task(n), uint64(task(n)), 0, trace.Region{Name: "task"})
			b.Wait(at+2, task(n), trace.WaitTimer)
		}
		done := func(at, n int64) {
			b.Ready(at, task(n), -1)
			b.Start(at+1, task(n), 1)
			b.Close(at+2, task(n), uint64(task(n)))
			b.Operate(at+3, task(n), 'r', places, 2)
		}
		end := func(at, n int64) {
			b.Operate(at, task(n), 'g', group, -1)
			b.End(at+1, task(n))
		}
		all.add(begins, func(at int64) {
			for n := range int64(2) {
				b.Operate(at+3*n, 0, 's', places, 2)
				start(at+3*n+1, n)
			}
			b.Operate(at+10, 0, 'S', places, 2)
			b.Wait(at+11, 0, trace.WaitOther)
		})
		all.add(begins+20, func(at int64) { work(at, 0) })
		all.add(begins+30, func(at int64) { work(at, 1) })
		all.add(begins+2*ms+20, func(at int64) {
			done(at, 0)
			b.Ready(at+4, 0, task(0))
			end(at+5, 0)
			done(at+10, 1)
			end(at+15, 1)
			b.Start(at+20, 0, 0)
			b.Operate(at+21, 0, 's', places, 2)
			start(at+22, 2)
			b.Operate(at+24, 0, 's', places, 2)
			start(at+25, 3)
			b.Operate(at+27, 0, 'V', group, 0)
			b.Wait(at+28, 0, trace.WaitOther)
			work(at+30, 2)
			work(at+40, 3)
		})
		all.add(begins+4*ms+60, func(at int64) {
			done(at, 2)
			end(at+5, 2)
			done(at+10, 3)
			end(at+15, 3)
			b.Ready(at+14, 0, task(3))
			b.Start(at+20, 0, 0)
			b.Operate(at+21, 0, 'v', group, 0)
			b.Visit(at+22, 0, "done")
			b.Wait(at+23, 0, trace.WaitTimer)
		})
		all.add(begins+period-10, func(at int64) {
			b.Ready(at, 0, -1)
			b.Start(at+1, 0, 0)
		})
	}
	all.play()
	rec := recorded(t, b, rounds*period+ms)
	before, after := Predict(rec, "done", Speedup{trace.Region{Name: "task"}, 0.5})
	if got, want := 1-after/before, 0.4; !isNear(got, want, 0.01) {
		t.Errorf("tasks of half the time: %.3f less time between visits, want %.3f", got, want)
	}
}

// An office is a program whose clients think, and query one of several workers that have no spans.
// The answer comes by a channel that is for it alone.
type office struct {
	clients, workers int
	think, query     float64
}

// run returns how many queries are answered. It records them if there is something to record with.
func (p *office) run(c *caller, end int64) (done int) {
	const (
		siteAnswer = iota + 1
		siteJob
		siteSend
		siteSleep
		jobs    = 1   // a channel
		workers = 100 // goroutines
	)
	if c == nil {
		c = &caller{Recorder: trace.NewRecorder(0, 16)}
	}
	for _, frames := range [][]trace.Frame{
		{{Func: "runtime.chanrecv1"}, {Func: "main.query"}},
		{{Func: "runtime.chanrecv2"}, {Func: "main.work"}},
		{{Func: "runtime.chansend1"}, {Func: "main.send"}},
		{{Func: "time.Sleep"}, {Func: "main.sleep"}},
	} {
		c.R.Sites = append(c.R.Sites, trace.Site{Frames: frames})
	}
	operate := func(at, g int64, what mark.Op, channel uint64, room int64) {
		c.note(at, g, trace.Event{Kind: trace.EvOperate, What: what, Ref: c.ObjectOf(trace.KeyOf(what, channel)), Arg: int32(room)})
	}
	type happening struct {
		at, client, worker int64
		span               int32
		channel            uint64
	}
	var next, queue []happening
	var idle []int64
	lengths := make([]*rand.Rand, p.clients)
	thinks := func(at, client int64) {
		d := int64(float64(2*ms+lengths[client].Int64N(2*ms)) * p.think)
		c.span(at, at+d, client, "think", siteSleep)
		next = append(next, happening{at: at + d + 2000, client: client, worker: -1})
	}
	works := func(at, worker int64, x happening) {
		d := int64(float64(2*ms+lengths[x.client].Int64N(2*ms)) * p.query)
		c.waits(at+100, at+100+d, worker, siteSleep, trace.WaitTimer)
		x.at, x.worker = at+d+2000, worker
		next = append(next, x)
	}
	rests := func(at, worker int64) {
		operate(at, worker, 'R', jobs, 64)
		c.note(at+1, worker, trace.Event{Kind: trace.EvWait, Site: siteJob, Arg: trace.WaitReceive})
		idle = append(idle, worker)
	}
	for w := range int64(p.workers) {
		c.Running(0, workers+w)
		rests(1, workers+w)
	}
	for client := range int64(p.clients) {
		c.Running(0, client)
		lengths[client] = rand.New(rand.NewPCG(1, uint64(client)))
		thinks(100, client)
	}
	for channels := uint64(jobs); ; {
		slices.SortFunc(next, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
		x := next[0]
		if next = next[1:]; x.at >= end {
			return done
		}
		if x.worker < 0 {
			channels++
			x.span, x.channel = int32(len(c.R.Spans)), channels
			c.R.Spans = append(c.R.Spans, trace.Span{Region: c.RegionOf(trace.Region{Name: "query"}), Parent: -1, Root: true})
			c.note(x.at, x.client, trace.Event{Kind: trace.EvOpen, Ref: x.span})
			operate(x.at+10, x.client, 's', jobs, 64)
			if len(idle) > 0 {
				w := idle[0]
				idle = idle[1:]
				c.by(x.client, x.at+9, w, trace.Event{Kind: trace.EvReady, Site: siteSend})
				c.starts(x.at+1000, w)
				operate(x.at+1010, w, 'r', jobs, 64)
				works(x.at+1100, w, x)
			} else {
				queue = append(queue, x)
			}
			operate(x.at+20, x.client, 'R', x.channel, 1)
			c.note(x.at+30, x.client, trace.Event{Kind: trace.EvWait, Site: siteAnswer, Arg: trace.WaitReceive})
			continue
		}
		done++
		c.by(x.worker, x.at+9, x.client, trace.Event{Kind: trace.EvReady, Site: siteSend})
		operate(x.at+10, x.worker, 's', x.channel, 1)
		c.starts(x.at+1000, x.client)
		operate(x.at+1010, x.client, 'r', x.channel, 1)
		c.note(x.at+1100, x.client, trace.Event{Kind: trace.EvClose, Ref: x.span})
		c.note(x.at+1200, x.client, trace.Event{Kind: trace.EvVisit, Ref: c.PointOf("done")})
		thinks(x.at+1300, x.client)
		if len(queue) > 0 {
			operate(x.at+20, x.worker, 'r', jobs, 64)
			works(x.at+100, x.worker, queue[0])
			queue = queue[1:]
		} else {
			rests(x.at+20, x.worker)
		}
	}
}

// record returns how many queries are answered, and the recording of that.
func (p *office) record(t *testing.T, end int64) (done int, rec *trace.Recording) {
	t.Helper()
	c := &caller{Recorder: trace.NewRecorder(0, 16)}
	done = p.run(c, end)
	return done, c.recording(t, end)
}

// TestAnswersByChannelsOfTheirOwn has what workers do for a query be the query's, also if they need
// not wait for it, and be done by as many workers at a time as there are.
func TestAnswersByChannelsOfTheirOwn(t *testing.T) {
	const end = 1500 * ms
	base := office{clients: 6, workers: 2, think: 1, query: 1}
	was, rec := base.record(t, end)
	for _, speedup := range []struct {
		region string
		by     float64
	}{{"query", 0.5}, {"query", 0.95}, {"think", 0.95}} {
		faster := base
		if speedup.region == "query" {
			faster.query -= speedup.by
		} else {
			faster.think -= speedup.by
		}
		want := 1 - float64(was)/float64(faster.run(nil, end))
		if got := answer(rec, t, "done", speedup.region, speedup.by); !isNear(got, want, 0.02) {
			t.Errorf("%s %.0f %% faster: %.3f less time between visits, want %.3f", speedup.region, 100*speedup.by, got, want)
		}
	}
}

// TestWorkers asks about another number of workers than were recorded, who wait for queries now and
// then, or never.
func TestWorkers(t *testing.T) {
	const end = 1500 * ms
	for _, base := range []office{{clients: 6, workers: 2, think: 1, query: 1}, {clients: 6, workers: 3, think: 0.1, query: 1}} {
		was, rec := base.record(t, end)
		p := infer.NewProgram(rec, true)
		usual := sim.Simulate(p, sim.Change{}, end)
		for _, workers := range []int{1, 2, 3, 6} {
			other := base
			other.workers = workers
			want := 1 - float64(was)/float64(other.run(nil, end))
			x, change, ok := Question{Workers: "main.work", Number: workers}.on(p)
			if !ok {
				t.Fatal("no workers found")
			}
			o := sim.Simulate(x, change, end)
			got := 1 - doubt.Period(o.Visits[0], end)/doubt.Period(usual.Visits[0], end)
			if !isNear(got, want, 0.02) {
				t.Errorf("%d workers for %d: %.3f less time between visits, want %.3f", workers, base.workers, got, want)
			}
		}
		if _, _, ok := (Question{Workers: "main.query", Number: 3}).on(p); ok {
			t.Error("clients, who wait for answers, are taken for workers")
		}
	}
}
