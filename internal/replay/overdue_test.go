package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestOverdueMonitored has a goroutine wait for the network for 3 ms each time, while others have
// the processor: the runtime's monitor finds out up to 8 ms later.
func TestOverdueMonitored(t *testing.T) {
	const cycles = 60
	b := trace.NewRecorder(0, 1)
	b.Place(1)
	b.Running(0, 0)
	b.Runnable(0, 1)
	b.Waiting(0, 2)
	late, at := []int64{0, 4, 8, 2, 6}, int64(0)
	for i := range int64(cycles) {
		end := at + (3+late[i%5])*ms
		for ; at < end; at += ms { // the other two take turns
			b.Yield(at+ms, 0)
			b.Start(at+ms, 1, 0)
			at += ms
			b.Yield(min(at+ms, end), 1)
			b.Start(min(at+ms, end), 0, 0)
		}
		at = end
		b.Ready(at, 2, -1)
		b.Yield(at, 0)
		b.Start(at, 2, 0)
		b.Visit(at+ms, 2, "done")
		b.Add(trace.Event{Kind: trace.EvWait, At: at + ms, G: b.Goroutine(2), By: trace.NoWaker, Site: 1, Arg: trace.WaitNetwork})
		b.Start(at+ms, 0, 0)
		at += ms
	}
	p := infer.NewProgram(recorded(t, b, at), true)
	waits := 0
	for l := range p.Lists {
		for _, o := range p.Lists[l].Ops {
			if o.Kind != model.OpOut || o.Site != 1 {
				continue
			}
			if waits++; o.D > 3*ms+model.Swapping {
				t.Errorf("wait %d of the replay takes %.1f ms, want 3", waits, float64(o.D)/ms)
			}
		}
	}
	if waits < cycles-2 {
		t.Errorf("%d waits, want %d", waits, cycles-1)
	}
}

// TestOverdueAlways has a goroutine wait for the network for 3 ms each time, on a processor that
// others keep for up to 1 ms at a time: nearly each wait is found to be over late, and is not taken
// to be longer than it was by that.
func TestOverdueAlways(t *testing.T) {
	const cycles = 500
	b := trace.NewRecorder(0, 1)
	b.Place(1)
	b.Running(0, 0)
	b.Runnable(0, 1)
	b.Waiting(0, 2)
	at := int64(0)
	for i := range int64(cycles) {
		over := at + 3*ms
		for next := at + 1 + i*617%1000*ms/1000; ; next += ms { // the network is looked at when these take turns
			b.Yield(next, 0)
			b.Start(next, 1, 0)
			b.Yield(next, 1)
			if at = next; at >= over {
				break
			}
			b.Start(next, 0, 0)
		}
		b.Ready(at, 2, -1)
		b.Start(at, 2, 0)
		b.Visit(at+ms, 2, "done")
		at += ms
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(2), By: trace.NoWaker, Site: 1, Arg: trace.WaitNetwork})
		b.Start(at, 0, 0)
	}
	p := infer.NewProgram(recorded(t, b, at), true)
	var all []int64
	for l := range p.Lists {
		for _, o := range p.Lists[l].Ops {
			if o.Kind == model.OpOut && o.Site == 1 {
				all = append(all, o.D)
			}
		}
	}
	if got := infer.Median(all, 0); len(all) < cycles-2 || got > 3*ms+ms/50 || got < 3*ms {
		t.Errorf("%d waits of the replay take %.3f ms, want %d of 3.00 to 3.02", len(all), float64(got)/ms, cycles-1)
	}
}
