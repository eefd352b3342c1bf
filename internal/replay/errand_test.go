package replay

import (
	"math"
	"testing"
)

// TestErrands has spans whose work goroutines without spans do. Two clients, 1 ms each, have a query of 2 ms done by a worker or by
// a goroutine that they start, and lines written by a goroutine that takes 2 ms for each, which they do not wait for.
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
			c := &caller{Recorder: NewRecorder(0, 16)}
			for _, frames := range [][]Frame{
				{{Func: "runtime.chanrecv1"}, {Func: "main.work"}},
				{{Func: "runtime.chanrecv1"}, {Func: "main.ask"}},
				{{Func: "runtime.chanrecv1"}, {Func: "main.log"}},
				{{Func: "time.Sleep"}, {Func: "main.sleep"}},
			} {
				c.r.sites = append(c.r.sites, Site{frames})
			}
			const end = 400 * ms
			region := c.regionOf(Region{Name: "query"})
			next := int64(100)
			for g := range int64(2) {
				worker, logger := 10+g, 20+g
				c.Running(0, g)
				c.Waiting(0, worker)
				c.Waiting(0, logger)
				for at := int64(0); at < end; {
					c.waits(at+1000, at+ms, g, siteSleep, waitTimer)
					at += ms + 2000
					ref := int32(len(c.r.spans))
					c.r.spans = append(c.r.spans, span{region: region, parent: -1, root: true})
					c.note(at, g, event{kind: evOpen, ref: ref})
					by := worker
					switch {
					case tc.starts:
						by = next
						next++
						c.by(g, at+1000, by, event{kind: evCreate, site: siteJob})
						c.starts(at+2000, by)
					case tc.logs:
						by = logger
						fallthrough
					default:
						c.by(g, at+1000, by, event{kind: evReady, site: siteJob})
						c.starts(at+2000, by)
					}
					c.waits(at+3000, at+2*ms, by, siteSleep, waitTimer)
					if tc.logs {
						c.waits(at+3000, at+ms, g, siteSleep, waitTimer)
						c.note(at+ms+2000, g, event{kind: evClose, ref: ref})
						c.note(at+2*ms+2000, by, event{kind: evWait, site: siteLine, arg: waitOther})
					} else {
						c.note(at+3000, g, event{kind: evWait, site: siteDone, arg: waitOther})
						c.by(by, at+2*ms+2000, g, event{kind: evReady, site: siteDone})
						c.starts(at+2*ms+3000, g)
						c.note(at+2*ms+5000, g, event{kind: evClose, ref: ref})
						if tc.starts {
							c.note(at+2*ms+3000, by, event{kind: evEnd})
						} else {
							c.note(at+2*ms+3000, by, event{kind: evWait, site: siteJob, arg: waitOther})
						}
					}
					at += 2*ms + 6000
					c.note(at, g, event{kind: evVisit, ref: c.pointOf("done")})
				}
			}
			rec := c.recording(t, end)
			if tc.logs {
				for g, all := range newProgram(rec, true).errands {
					if len(all) > 0 {
						t.Errorf("goroutine %d is at work for others: %v", g, all)
					}
				}
				return
			}
			a, b := rec.Predict("done", Speedup{Region{Name: "query"}, 0.5})
			if got := 1 - b/a; math.Abs(got-tc.want) > 0.02 {
				t.Errorf("twice as fast a query: %.3f less time between visits, want %.3f", got, tc.want)
			}
		})
	}
}
