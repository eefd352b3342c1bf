package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestErrands has spans whose work goroutines without spans do. Two clients, 1 ms each, have a
// query of 2 ms done by a worker or by a goroutine that they start, and lines written by a
// goroutine that takes 2 ms for each, which they do not wait for.
func TestErrands(t *testing.T) {
	const (
		siteJob = iota + 1
		siteDone
		siteLine
		siteSleep
	)
	for name, tc := range map[string]struct {
		starts, logs bool
		want         float64
	}{
		"by a worker":                {want: 0.33},
		"by a goroutine of its":      {starts: true, want: 0.33},
		"nothing that is waited for": {logs: true, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &caller{Recorder: trace.NewRecorder(0, 16)}
			for _, frames := range [][]trace.Frame{
				{{Func: "runtime.chanrecv1"}, {Func: "main.work"}},
				{{Func: "runtime.chanrecv1"}, {Func: "main.ask"}},
				{{Func: "runtime.chanrecv1"}, {Func: "main.log"}},
				{{Func: "time.Sleep"}, {Func: "main.sleep"}},
			} {
				c.R.Sites = append(c.R.Sites, trace.Site{Frames: frames})
			}
			const end = 400 * ms
			region := c.RegionOf(trace.Region{Name: "query"})
			next := int64(100)
			for g := range int64(2) {
				worker, logger := 10+g, 20+g
				c.Running(0, g)
				c.Waiting(0, worker)
				c.Waiting(0, logger)
				for at := int64(0); at < end; {
					c.waits(at+1000, at+ms, g, siteSleep, trace.WaitTimer)
					at += ms + 2000
					ref := int32(len(c.R.Spans))
					c.R.Spans = append(c.R.Spans, trace.Span{Region: region, Parent: -1, Root: true})
					c.note(at, g, trace.Event{Kind: trace.EvOpen, Ref: ref})
					by := worker
					switch {
					case tc.starts:
						by = next
						next++
						c.by(g, at+1000, by, trace.Event{Kind: trace.EvCreate, Site: siteJob})
						c.starts(at+2000, by)
					case tc.logs:
						by = logger
						fallthrough
					default:
						c.by(g, at+1000, by, trace.Event{Kind: trace.EvReady, Site: siteJob})
						c.starts(at+2000, by)
					}
					c.waits(at+3000, at+2*ms, by, siteSleep, trace.WaitTimer)
					if tc.logs {
						c.waits(at+3000, at+ms, g, siteSleep, trace.WaitTimer)
						c.note(at+ms+2000, g, trace.Event{Kind: trace.EvClose, Ref: ref})
						c.note(at+2*ms+2000, by, trace.Event{Kind: trace.EvWait, Site: siteLine, Arg: trace.WaitOther})
					} else {
						c.note(at+3000, g, trace.Event{Kind: trace.EvWait, Site: siteDone, Arg: trace.WaitOther})
						c.by(by, at+2*ms+2000, g, trace.Event{Kind: trace.EvReady, Site: siteDone})
						c.starts(at+2*ms+3000, g)
						c.note(at+2*ms+5000, g, trace.Event{Kind: trace.EvClose, Ref: ref})
						if tc.starts {
							c.note(at+2*ms+3000, by, trace.Event{Kind: trace.EvEnd})
						} else {
							c.note(at+2*ms+3000, by, trace.Event{Kind: trace.EvWait, Site: siteJob, Arg: trace.WaitOther})
						}
					}
					at += 2*ms + 6000
					c.note(at, g, trace.Event{Kind: trace.EvVisit, Ref: c.PointOf("done")})
				}
			}
			rec := c.recording(t, end)
			if tc.logs {
				for g, all := range infer.NewProgram(rec, true).Errands {
					if len(all) > 0 {
						t.Errorf("goroutine %d is at work for others: %v", g, all)
					}
				}
				return
			}
			a, b := Predict(rec, "done", Speedup{trace.Region{Name: "query"}, 0.5})
			if got := 1 - b/a; !isNear(got, tc.want, 0.02) {
				t.Errorf("twice as fast a query: %.3f less time between visits, want %.3f", got, tc.want)
			}
		})
	}
}

// TestParts has two clients, 2 ms each, and workers without spans that have always something to do:
// four parts of 1 ms of each query.
func TestParts(t *testing.T) {
	const (
		jobs   = 1
		parts  = 4
		rounds = 100
		period = 4 * ms
	)
	b := trace.NewRecorder(0, 4)
	var all script
	for g := range int64(4) {
		b.Running(0, g)
	}
	for round := range int64(rounds) {
		for client := range int64(2) {
			begins := round*period + client*period/2
			query, group := uint64(2*round+client+1), uint64(1000+2*round+client)
			if round == 0 {
				all.add(begins, func(at int64) { b.Wait(at+1, client, trace.WaitTimer) })
			}
			all.add(begins+2*ms, func(at int64) {
				b.Ready(at, client, -1)
				b.Start(at+1, client, client)
				b.Open(at+2, client, query, 0, trace.Region{Name: "query"})
				for i := range int64(parts) {
					b.Operate(at+3+2*i, client, 'g', group, 1)
					b.Operate(at+4+2*i, client, 's', jobs, 16)
				}
				b.Operate(at+20, client, 'V', group, 0)
				b.Wait(at+21, client, trace.WaitOther)
			})
			for i := range int64(parts) {
				worker := 2 + i%2
				all.add(begins+2*ms+100+i/2*ms, func(at int64) { b.Operate(at+worker, worker, 'r', jobs, 16) })
				all.add(begins+3*ms+50+i/2*ms, func(at int64) {
					b.Operate(at+worker, worker, 'g', group, -1)
					if i == parts-1 {
						b.Ready(at+10, client, worker)
						b.Start(at+11, client, client)
						b.Operate(at+12, client, 'v', group, 0)
						b.Close(at+13, client, query)
						b.Visit(at+14, client, "done")
						b.Wait(at+15, client, trace.WaitTimer)
					}
				})
			}
		}
	}
	all.play()
	rec := recorded(t, b, rounds*period)
	for by, want := range map[float64]float64{0.5: 0.25, 0.9: 0.45} {
		before, after := Predict(rec, "done", Speedup{trace.Region{Name: "query"}, by})
		if got := 1 - after/before; !isNear(got, want, 0.01) {
			t.Errorf("a query %.0f %% faster: %.3f less time between visits, want %.3f", 100*by, got, want)
		}
	}
}
