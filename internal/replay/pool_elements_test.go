package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestElementsInHand has a goroutine fetch from one of three hosts at a time, for each of which
// there is a channel with one place: its list may begin anew in neither turn's middle, though it
// counts what it has done there, since the next turn is of another host.
func TestElementsInHand(t *testing.T) {
	const g, rounds, period = 0, 100, 5 * ms
	b := trace.NewRecorder(0, 1)
	b.Running(0, g)
	sleep := func(at, until int64) {
		b.Wait(at, g, trace.WaitTimer)
		b.Ready(until, g, -1)
		b.Start(until+1, g, 0)
	}
	for round := range int64(rounds) {
		at, host := round*period+10, uint64(1+round*round%7%3)
		b.Operate(at, g, 's', host, 1)
		b.Open(at+1, g, uint64(round+1), 0, trace.Region{Name: "fetch"})
		sleep(at+2, at+2*ms)
		b.Close(at+2*ms+2, g, uint64(round+1))
		b.Visit(at+2*ms+3, g, "done")
		b.Operate(at+2*ms+4, g, 'r', host, 1)
		sleep(at+2*ms+5, at+3*ms)
		sleep(at+3*ms+2, at+period-20)
	}
	p := infer.NewProgram(recorded(t, b, rounds*period), true)
	l := &p.Lists[g]
	if l.To == 0 {
		t.Fatal("the list does not begin anew")
	}
	for _, end := range []int32{l.From, l.To} {
		has := 0
		for _, o := range l.Ops[:end] {
			switch o.Kind {
			case model.OpSend:
				has++
			case model.OpReceive:
				has--
			}
		}
		if has != 0 {
			t.Errorf("behind op %d of %d to %d it has %d elements, want none", end-1, l.From, l.To, has)
		}
	}
}
