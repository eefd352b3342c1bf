package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A gatherer is a program: clients prepare, and are gathered for 3 ms by a timer, which the first
// of them sets, and whose goroutine then flushes for all of them. What is true of its regions is
// what it does if they take so much of their time.
type gatherer struct {
	clients        int64
	prepare, flush float64
	each           int64 // of the flush, for each client
	// wanders sets the timer to a time that nothing in the recording shows.
	wanders bool
}

// TestCalledLater: the goroutine of a timer begins a fixed time after the first goroutine waits for
// it, and does its work for all that have come until then. Where that is not so there is no answer
// for the waiting goroutines.
func TestCalledLater(t *testing.T) {
	const end = 1500 * ms
	for name, program := range map[string]gatherer{"few": {clients: 2}, "many": {clients: 7}, "the longer the more": {clients: 7, each: ms}} {
		t.Run(name, func(t *testing.T) {
			program.prepare, program.flush = 1, 1
			c := newGathererRecorder()
			base := program.run(c, end)
			rec := c.recording(t, end)
			for _, speedup := range []struct {
				region string
				by     float64
			}{{"flush", 0.5}, {"flush", 0.95}, {"prepare", 0.5}, {"prepare", 0.95}} {
				really := program
				if speedup.region == "flush" {
					really.flush -= speedup.by
				} else {
					really.prepare -= speedup.by
				}
				want := 1 - float64(base)/float64(really.run(newGathererRecorder(), end))
				a, b := Predict(rec, "done", Speedup{trace.Region{Name: speedup.region}, speedup.by})
				if got := 1 - b/a; !isNear(got, want, 0.02) {
					t.Errorf("%s %.0f %% faster: %.3f less time between visits, want %.3f", speedup.region, 100*speedup.by, got, want)
				}
			}
		})
	}
	t.Run("not told", func(t *testing.T) {
		c := newGathererRecorder()
		program := gatherer{clients: 4, prepare: 1, flush: 1, wanders: true}
		program.run(c, end)
		p := infer.NewProgram(c.recording(t, end), true)
		if got := cond.ByPoint(p, p.UncalledFor)["done"]; got < doubt.MaxUndecided {
			t.Errorf("part of the time in waits for timers that are set at unknown times: %.2f, want %.2f or more", got, doubt.MaxUndecided)
		}
	})
}

const (
	siteGathered = iota + 1
	siteClose
	siteRest
	siteFlush
)

func newGathererRecorder() *caller {
	c := &caller{Recorder: trace.NewRecorder(0, 16)}
	for _, frames := range [][]trace.Frame{
		{{Func: "runtime.chanrecv1"}, {Func: "main.request"}},
		{{Func: "main.flush"}},
		{{Func: "time.Sleep"}, {Func: "main.sleep"}},
		{{Func: "main.flush"}},
	} {
		c.R.Sites = append(c.R.Sites, trace.Site{Frames: frames})
	}
	return c
}

// run records the program, and returns how many requests are done.
func (p *gatherer) run(c *caller, end int64) (done int) {
	random := rand.New(rand.NewPCG(1, 2))
	span := func(at, until, g int64, region string) {
		ref := int32(len(c.R.Spans))
		c.R.Spans = append(c.R.Spans, trace.Span{Region: c.RegionOf(trace.Region{Name: region}), Parent: -1, Root: true})
		c.note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
		c.waits(at+1, until, g, siteRest, trace.WaitTimer)
		c.note(until+1500, g, trace.Event{Kind: trace.EvClose, Ref: ref})
	}
	type batch struct {
		due, end int64
		clients  []int64
	}
	var open *batch
	var flushing []*batch
	comes, lengths := make([]int64, p.clients), make([]*rand.Rand, p.clients) // when each is prepared, end while it waits
	prepares := func(at, client int64) {
		d := int64(float64(ms+lengths[client].Int64N(8*ms)) * p.prepare)
		span(at, at+d, client, "prepare")
		comes[client] = at + d + 2000
	}
	for g := range p.clients {
		c.Running(0, g)
		lengths[g] = rand.New(rand.NewPCG(1, uint64(g)))
		prepares(100, g)
	}
	for timer := int64(100); ; {
		client := int64(0)
		for g := range comes {
			if comes[g] < comes[client] {
				client = int64(g)
			}
		}
		slices.SortFunc(flushing, func(a, b *batch) int { return int(a.end - b.end) })
		now := comes[client]
		switch {
		case open != nil && open.due <= now && (len(flushing) == 0 || open.due <= flushing[0].end):
			now = open.due
		case len(flushing) > 0 && flushing[0].end <= now:
			now = flushing[0].end
		}
		if now >= end {
			return done
		}
		switch {
		case open != nil && now == open.due:
			took := int64(float64(4*ms+p.each*int64(len(open.clients))) * p.flush)
			c.note(now, timer, trace.Event{Kind: trace.EvCreate, Site: siteFlush})
			c.starts(now+1000, timer)
			span(now+2000, now+2000+took, timer, "flush")
			open.end = now + took + 5000
			for i, client := range open.clients {
				at := open.end + int64(100*i)
				c.by(timer, at, client, trace.Event{Kind: trace.EvReady, Site: siteClose})
				c.starts(at+1000, client)
			}
			c.note(open.end+1500, timer, trace.Event{Kind: trace.EvEnd})
			flushing = append(flushing, open)
			open = nil
			timer++
		case len(flushing) > 0 && now == flushing[0].end:
			for i, client := range flushing[0].clients {
				at := now + int64(100*i) + 1100
				c.note(at, client, trace.Event{Kind: trace.EvVisit, Ref: c.PointOf("done")})
				prepares(at+100, client)
				done++
			}
			flushing = flushing[1:]
		default:
			c.note(now, client, trace.Event{Kind: trace.EvWait, Site: siteGathered, Arg: trace.WaitReceive})
			if comes[client] = end; open == nil {
				open = &batch{due: now + 3*ms}
				if p.wanders {
					open.due = now + random.Int64N(20*ms)
				}
			}
			open.clients = append(open.clients, client)
		}
	}
}
