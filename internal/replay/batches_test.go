package replay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A committer is a program: what is recorded of it, and what is true if its regions take so much of
// their time.
type committer struct {
	writers, limit  int
	prepare, commit float64
	// fixed and each are how long a commit takes in the mean for any batch, and for each write in
	// it, ns.
	fixed, each int64
	sends       bool // requests and answers go by channels whose operations are recorded
}

// TestBatches has writers prepare, and wait for one goroutine that commits whatever has come: the
// sooner that is done, the fewer have.
func TestBatches(t *testing.T) {
	const end = 1500 * ms
	for name, tc := range map[string]committer{
		"a limit":            {writers: 8, limit: 4, fixed: 4 * ms},
		"no limit":           {writers: 5, limit: 5, fixed: 4 * ms},
		"often idle":         {writers: 3, limit: 2, fixed: 4 * ms},
		"known operations":   {writers: 8, limit: 4, fixed: 4 * ms, sends: true},
		"longer with size":   {writers: 8, limit: 8, fixed: 2 * ms, each: ms},
		"by size alone":      {writers: 6, limit: 6, each: ms},
		"longer, operations": {writers: 8, limit: 5, fixed: 2 * ms, each: ms, sends: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := &caller{Recorder: trace.NewRecorder(0, 16)}
			tc.prepare, tc.commit = 1, 1
			base := tc.run(c, end)
			rec := c.recording(t, end)
			for _, speedup := range []struct {
				region string
				by     float64
			}{{"commit", 0.5}, {"commit", 0.95}, {"prepare", 0.5}, {"prepare", 0.95}} {
				really := tc
				if speedup.region == "commit" {
					really.commit -= speedup.by
				} else {
					really.prepare -= speedup.by
				}
				want := 1 - float64(base)/float64(really.run(nil, end))
				a, b := Predict(rec, "done", Speedup{trace.Region{Name: speedup.region}, speedup.by})
				if got := 1 - b/a; !isNear(got, want, 0.02) {
					t.Errorf("%s %.0f %% faster: %.3f less time between visits, want %.3f", speedup.region, 100*speedup.by, got, want)
				}
			}
		})
	}
}

// run returns how many writes are done. It records them if there is something to record with.
func (p *committer) run(c *caller, end int64) (done int) {
	const (
		siteAnswer = iota + 1
		siteIdle
		siteSleep
	)
	const (
		commits  = 100 // a goroutine
		requests = 7   // a channel
		answers  = 1000
	)
	if c == nil {
		c = &caller{Recorder: trace.NewRecorder(0, 16)}
	}
	for _, frames := range [][]trace.Frame{
		{{Func: "runtime.chanrecv1"}, {Func: "main.write"}},
		{{Func: "runtime.chanrecv2"}, {Func: "main.commit"}},
		{{Func: "time.Sleep"}, {Func: "main.sleep"}},
	} {
		c.R.Sites = append(c.R.Sites, trace.Site{Frames: frames})
	}
	operate := func(at, g int64, what mark.Op, object uint64, room int64) {
		if !p.sends {
			return
		}
		c.note(at, g, trace.Event{Kind: trace.EvOperate, What: what, Ref: c.ObjectOf(trace.KeyOf(what, object)), Arg: int32(room)})
	}
	span := func(at, until, g int64, region string) {
		ref := int32(len(c.R.Spans))
		c.R.Spans = append(c.R.Spans, trace.Span{Region: c.RegionOf(trace.Region{Name: region}), Parent: -1, Root: true})
		c.note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
		c.waits(at+1, until, g, siteSleep, trace.WaitTimer)
		c.note(until+1500, g, trace.Event{Kind: trace.EvClose, Ref: ref})
	}
	c.Running(0, commits)
	rests := func(at int64) {
		operate(at, commits, 'R', requests, 64)
		c.note(at+1, commits, trace.Event{Kind: trace.EvWait, Site: siteIdle, Arg: trace.WaitReceive})
	}
	rests(1)
	type request struct{ at, writer int64 }
	var coming, waiting []request
	lengths, commitLengths := make([]*rand.Rand, p.writers), rand.New(rand.NewPCG(2, 0))
	prepares := func(at, writer int64) {
		d := int64(float64(ms+lengths[writer].Int64N(4*ms)) * p.prepare)
		span(at, at+d, writer, "prepare")
		coming = append(coming, request{at + d + 2000, writer})
	}
	for w := range int64(p.writers) {
		c.Running(0, w)
		lengths[w] = rand.New(rand.NewPCG(1, uint64(w)))
		prepares(100, w)
	}
	for now := int64(0); now < end; {
		slices.SortFunc(coming, func(a, b request) int { return cmp.Compare(a.at, b.at) })
		idle := coming[0].at > now && len(waiting) == 0
		if idle {
			now = coming[0].at
		}
		for len(coming) > 0 && coming[0].at <= now {
			x := coming[0]
			coming, waiting = coming[1:], append(waiting, x)
			if idle {
				c.by(x.writer, x.at+20, commits, trace.Event{Kind: trace.EvReady, Site: siteAnswer})
				c.starts(x.at+1000, commits)
			}
			operate(x.at+30, x.writer, 's', requests, 64)
			operate(x.at+40, x.writer, 'R', answers+uint64(x.writer), 1)
			c.note(x.at+50, x.writer, trace.Event{Kind: trace.EvWait, Site: siteAnswer, Arg: trace.WaitReceive})
		}
		batch := waiting[:min(len(waiting), p.limit)]
		waiting = slices.Clone(waiting[len(batch):])
		for i := range batch {
			what := mark.TryReceive
			if i == 0 {
				what = mark.Receive
			}
			operate(now+1200+int64(i), commits, what, requests, 64)
		}
		took := int64(float64(p.fixed+p.each*int64(len(batch))) * p.commit * (0.9 + 0.2*commitLengths.Float64()))
		span(now+2000, now+2000+took, commits, "commit")
		now += took + 5000
		for i, x := range batch {
			at := now + int64(100*i)
			c.by(commits, at, x.writer, trace.Event{Kind: trace.EvReady, Site: siteIdle})
			operate(at+1, commits, 's', answers+uint64(x.writer), 1)
			c.starts(at+1000, x.writer)
			operate(at+1050, x.writer, 'r', answers+uint64(x.writer), 1)
			c.note(at+1100, x.writer, trace.Event{Kind: trace.EvVisit, Ref: c.PointOf("done")})
			prepares(at+1200, x.writer)
			if at < end {
				done++
			}
		}
		now += 1000
		slices.SortFunc(coming, func(a, b request) int { return cmp.Compare(a.at, b.at) })
		if len(waiting) == 0 && coming[0].at > now {
			rests(now)
		}
	}
	return done
}
