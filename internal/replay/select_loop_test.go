package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestALoopOverSeveralChannelsServesNone has a goroutine without spans take what comes of two
// channels, or send to the second one, as in a loop over a select statement, and answer what comes
// of the first one: that is an order of its own, and no work of the goroutines that send.
func TestALoopOverSeveralChannelsServesNone(t *testing.T) {
	for name, sends := range map[string]bool{"receives": false, "sends": true} {
		t.Run(name, func(t *testing.T) { loopOverSeveral(t, sends) })
	}
}

func loopOverSeveral(t *testing.T, sends bool) {
	t.Helper()
	const loop, helper, requests, others = 0, 3, 1, 2
	b := trace.NewRecorder(0, 4)
	for g := range int64(4) {
		b.Running(0, g)
	}
	at := int64(0)
	operates := func(g int64, what mark.Op, object uint64, room int64) {
		at += 10
		b.Operate(at, g, what, object, room)
	}
	waits := func(g int64, reason int32) {
		at += 10
		b.Add(trace.Event{Kind: trace.EvWait, At: at, G: b.Goroutine(g), By: trace.NoWaker, Arg: reason})
	}
	goesOn := func(g, by int64) {
		at += 10
		b.Ready(at, g, by)
		at += 10
		b.Start(at, g, g)
	}
	chooses := func() {
		operates(loop, 'Y', requests, 0)
		if !sends { // a case that sends has no mark
			operates(loop, 'Y', others, 0)
		}
		waits(loop, trace.WaitSelect)
	}
	chooses()
	for round := range int64(100) {
		client := 1 + round%2
		answers := uint64(100 + client)
		operates(client, 's', requests, 0)
		goesOn(loop, client)
		operates(loop, 'r', requests, 0)
		operates(client, 'R', answers, 0)
		waits(client, trace.WaitReceive)
		at += ms
		goesOn(client, loop)
		operates(loop, 's', answers, 0)
		chooses()
		operates(client, 'r', answers, 0)
		b.Visit(at+1, client, "done")
		at += 2
		if sends {
			operates(helper, 'r', others, 0)
			goesOn(loop, helper)
			operates(loop, 's', others, 0)
		} else {
			operates(helper, 's', others, 0)
			goesOn(loop, helper)
			operates(loop, 'r', others, 0)
		}
		chooses()
	}
	p := infer.NewProgram(recorded(t, b, at+10), true)
	if got := p.Lists[loop].Serves; got != trace.None {
		t.Errorf("the loop serves channel %d, want none", got)
	}
}
