package replay

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestRoundsBeginAnewWhereTheyBegan has a goroutine take one lock at two places of a round, and the
// window end behind the second one: what it does again and again begins and ends with its span.
func TestRoundsBeginAnewWhereTheyBegan(t *testing.T) {
	const g, lock, queue, other, rounds = 1, 1, 2, 3, 30
	b := trace.NewRecorder(0, 1)
	b.Running(0, g)
	at := int64(0)
	for i := range uint64(rounds) {
		at += 100
		b.Operate(at, g, 'l', lock, 0)
		at += ms / 5
		b.Operate(at+10, g, 'u', lock, 0)
		b.Operate(at+20, g, 's', queue, 100)
		b.Open(at+30, g, i+1, 0, trace.Region{Name: "work"})
		at += ms
		b.Close(at, g, i+1)
		b.Operate(at+10, g, 'l', lock, 0)
		at += ms / 5
		b.Operate(at+20, g, 'u', lock, 0)
		if i < rounds-1 {
			b.Operate(at+30, g, 'r', other, 100)
		}
	}
	l := infer.NewProgram(recorded(t, b, at+30), true).Lists[0]
	if l.To == 0 || l.Ops[l.From-1].Kind != model.OpClose || l.Ops[l.To-1].Kind != model.OpClose {
		t.Fatalf("it begins anew from op %d to op %d of %d, want the ends of spans", l.From-1, l.To-1, len(l.Ops))
	}
}

// TestALockThatAnotherOneGivesBack has a goroutine take a lock each time that another one gives
// back: it begins anew all the same.
func TestALockThatAnotherOneGivesBack(t *testing.T) {
	const takes, gives, lock, rounds = 1, 2, 1, 30
	b := trace.NewRecorder(0, 2)
	b.Running(0, takes)
	b.Running(0, gives)
	at := int64(0)
	for range rounds {
		at += ms
		b.Operate(at, takes, 'l', lock, 0)
		at += ms
		b.Operate(at, gives, 'u', lock, 0)
		b.Visit(at+10, takes, "done")
	}
	if l := infer.NewProgram(recorded(t, b, at+30), true).Lists[0]; l.To == 0 {
		t.Errorf("%+v does not begin anew", l.Ops)
	}
}
