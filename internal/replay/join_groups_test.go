package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestGroupsAreNotShared has two clients, each of which waits for a WaitGroup of its own, by turns.
// Any of three workers is done with either. That looks like one object, which there is not.
func TestGroupsAreNotShared(t *testing.T) {
	const jobs, half, wait, clients, workers = 200, 2 * ms, 1, 2, 3
	b := trace.NewRecorder(0, 2)
	b.Place(wait)
	b.R.Sites[wait].Frames = []trace.Frame{{Func: "sync.(*WaitGroup).Wait"}, {Func: "main.client"}}
	for g := range int64(clients + workers) {
		b.Running(0, g)
	}
	var all script
	for job := range int64(jobs) {
		client, worker, span := job%clients, clients+job%workers, uint64(1+job)
		all.add(10+job*half, func(at int64) {
			if job >= workers {
				b.Ready(at, worker, client)
				b.Start(at+1, worker, client)
			}
			b.Open(at+2, worker, span, 0, trace.Region{Name: "work"})
			b.Wait(at+3, worker, trace.WaitTimer)
			b.Add(trace.Event{Kind: trace.EvWait, At: at + 4, G: b.Goroutine(client), By: trace.NoWaker, Site: wait, Arg: trace.WaitMutex})
		})
		all.add(job*half+2*half, func(at int64) {
			b.Ready(at, worker, -1)
			b.Start(at+1, worker, client)
			b.Close(at+2, worker, span)
			b.Ready(at+3, client, worker)
			b.Wait(at+4, worker, trace.WaitReceive)
			b.Start(at+5, client, client)
			b.Visit(at+6, client, "done")
		})
	}
	all.play()
	kept := 0
	for _, o := range infer.NewProgram(recorded(t, b, jobs*half), true).All() {
		if o.Kind == model.OpWait && o.Reason == trace.WaitMutex {
			kept++
		}
	}
	if kept < jobs*9/10 {
		t.Errorf("%d of %d waits for a group are for its own workers, want all", kept, jobs)
	}
}
