package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/doubt"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/sim"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// answer returns by which part the time between visits shrinks if a region is faster, as a window's
// analysis has it.
func answer(r *trace.Recording, t *testing.T, point, region string, by float64) float64 {
	t.Helper()
	of := readingOf(r, &window{})
	p, base, _ := doubt.OfClients(of.p, of.base)
	d := p.Rec.End - p.Rec.Start
	k := slices.IndexFunc(p.Points, func(x model.PointInfo) bool { return x.Name == point })
	i := slices.IndexFunc(p.Rec.Regions, func(x trace.Region) bool { return x.Name == region })
	if k < 0 || i < 0 {
		t.Fatalf("no progress point %q, or no region %q", point, region)
	}
	if missed := doubt.Misses(p, &base, d); missed > doubt.MaxDeviation {
		t.Errorf("nothing changed misses the recording by %.3f, want %.3f at most", missed, doubt.MaxDeviation)
	}
	o := sim.Simulate(p, sim.Change{Factors: map[int32]float64{int32(i): 1 - by}}, d)
	return 1 - doubt.Period(o.Visits[k], d)/doubt.Period(base.Visits[k], d)
}

// span has a goroutine sleep in a span from one time to another.
func (c *caller) span(at, until, g int64, region string, site int32) {
	ref := int32(len(c.R.Spans))
	c.R.Spans = append(c.R.Spans, trace.Span{Region: c.RegionOf(trace.Region{Name: region}), Parent: -1, Root: true})
	c.note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
	c.waits(at+1, until, g, site, trace.WaitTimer)
	c.note(until+1500, g, trace.Event{Kind: trace.EvClose, Ref: ref})
}

// A lender is a program whose goroutines prepare and then query with one of several connections. If
// none is free, a goroutine waits with a channel of its own, to which one that gives back a
// connection sends it, in no order, as in database/sql.
type lender struct {
	borrowers, connections int
	prepare, query         float64
	marked                 bool // operations are recorded
	closes                 bool // the channel of the first one is closed, as in a semaphore
}

// run returns how many queries are done. It records them if there is something to record with.
func (p *lender) run(c *caller, end int64) (done int) {
	const (
		siteConn = iota + 1
		sitePut
		siteSleep
		ended = 1 << 32 // a channel, of contexts
	)
	if c == nil {
		c = &caller{Recorder: trace.NewRecorder(0, 16)}
	}
	put, send, receive := "runtime.chansend1", mark.Send, mark.Receive
	if p.closes {
		put, send, receive = "golang.org/x/sync/semaphore.(*Weighted).notifyWaiters", mark.Close, mark.Closed
	}
	for _, frames := range [][]trace.Frame{
		{{Func: "runtime.selectgo"}, {Func: "database/sql.(*DB).conn"}},
		{{Func: put}, {Func: "database/sql.(*DB).putConnDBLocked"}},
		{{Func: "time.Sleep"}, {Func: "main.sleep"}},
	} {
		c.R.Sites = append(c.R.Sites, trace.Site{Frames: frames})
	}
	channels := uint64(0)
	operate := func(at, g int64, what mark.Op, channel uint64) {
		if p.marked {
			c.note(at, g, trace.Event{Kind: trace.EvOperate, What: what, Ref: c.ObjectOf(trace.KeyOf(what, channel)), Arg: 1})
		}
	}
	type happening struct {
		at, g   int64
		queried bool
	}
	type waiter struct {
		g       int64
		channel uint64
	}
	var next []happening
	var waiting []waiter
	free := p.connections
	whoever := rand.New(rand.NewPCG(3, 0))
	lengths := make([]*rand.Rand, p.borrowers)
	prepares := func(at, g int64) {
		d := int64(float64(ms+lengths[g].Int64N(4*ms)) * p.prepare)
		c.span(at, at+d, g, "prepare", siteSleep)
		next = append(next, happening{at + d + 2000, g, false})
	}
	queries := func(at, g int64) {
		d := int64(float64(2*ms+lengths[g].Int64N(ms)) * p.query)
		c.span(at, at+d, g, "query", siteSleep)
		next = append(next, happening{at + d + 2000, g, true})
	}
	for g := range int64(p.borrowers) {
		c.Running(0, g)
		lengths[g] = rand.New(rand.NewPCG(1, uint64(g)))
		prepares(100, g)
	}
	for {
		slices.SortFunc(next, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
		x := next[0]
		if next = next[1:]; x.at >= end {
			return done
		}
		switch {
		case !x.queried && free > 0:
			free--
			queries(x.at+500, x.g)
		case !x.queried:
			channels++
			operate(x.at+10, x.g, 'Y', channels)
			operate(x.at+11, x.g, 'Y', ended)
			c.note(x.at+20, x.g, trace.Event{Kind: trace.EvWait, Site: siteConn, Arg: trace.WaitSelect})
			waiting = append(waiting, waiter{x.g, channels})
		default:
			done++
			if len(waiting) > 0 {
				n := whoever.IntN(len(waiting))
				if p.closes {
					n = 0
				}
				w := waiting[n]
				waiting = slices.Delete(waiting, n, n+1)
				operate(x.at+9, x.g, send, w.channel)
				c.by(x.g, x.at+10, w.g, trace.Event{Kind: trace.EvReady, Site: sitePut})
				c.starts(x.at+1000, w.g)
				operate(x.at+1010, w.g, receive, w.channel)
				queries(x.at+1100, w.g)
			} else {
				free++
			}
			c.note(x.at+500, x.g, trace.Event{Kind: trace.EvVisit, Ref: c.PointOf("done")})
			prepares(x.at+600, x.g)
		}
	}
}

// TestPoolOfWaiters predicts a program that waits for connections as those who use database/sql do:
// that three queries run at a time is not recorded, neither in a trace of stock Go nor with all
// operations on channels, since each of these is for one wait.
func TestPoolOfWaiters(t *testing.T) {
	const end = 1500 * ms
	for name, tt := range map[string]struct{ marked, later, closes bool }{
		"stock":                                {},
		"stock, others wait at the start":      {later: true},
		"operations":                           {marked: true},
		"operations, others wait at the start": {marked: true, later: true},
		"a semaphore, stock":                   {closes: true},
		"a semaphore, operations":              {marked: true, closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			base := lender{borrowers: 6, connections: 3, prepare: 1, query: 1, marked: tt.marked, closes: tt.closes}
			if tt.later {
				base.borrowers = 9
			}
			c := &caller{Recorder: trace.NewRecorder(0, 16)}
			was := base.run(c, end)
			rec := c.recording(t, end)
			if tt.later {
				rec = slices.Collect(rec.Windows(2))[1]
				for i := range rec.Events {
					if e := &rec.Events[i]; e.Kind == trace.EvExists { // a trace that begins there has no more
						e.Site, e.Ref = 0, 0
					}
				}
			}
			for _, speedup := range []struct {
				region string
				by     float64
			}{{"query", 0.5}, {"query", 0.95}, {"prepare", 0.5}, {"prepare", 0.95}} {
				faster := base
				if speedup.region == "query" {
					faster.query -= speedup.by
				} else {
					faster.prepare -= speedup.by
				}
				want := 1 - float64(was)/float64(faster.run(nil, end))
				if got := answer(rec, t, "done", speedup.region, speedup.by); !isNear(got, want, 0.02) {
					t.Errorf("%s %.0f %% faster: %.3f less time between visits, want %.3f", speedup.region, 100*speedup.by, got, want)
				}
			}
		})
	}
}
