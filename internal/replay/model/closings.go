package model

import (
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A close lets all receivers go on, now and later (closechan in runtime/chan.go). A receiver that
// came when the channel was closed already did not wait, and would have if it had come sooner: the
// builder puts a wait for a token there, which package infer has the close give. One that has
// received from it before knows that it is closed: ctx.Err() receives from the channel of a context
// whose end a select statement has found (cancelCtx.Err in context/context.go, since Go 1.25).

// A latecomer has received from a channel that was closed already.
type latecomer struct {
	Closing Place // behind which op it was closed
	Token   int32 // that the op has to give
}

// A receiver is a goroutine, and a channel.
type receiver struct{ g, object int32 }

// closing is the reason of the op behind a close, which no other op that computes has.
const closing = WaitBusy

func (o *Op) closes() bool { return o.Kind == OpRun && o.Reason == closing }

// closed books an operation on a channel that is closed, or by which it is. Decided means that it
// waited, or was one of a select statement.
func (b *Builder) closed(g int32, e *trace.Event, decided bool) {
	if e.What == mark.Close {
		b.closings[e.Ref] = Place{g, int32(len(b.P.Lists[g].Ops)) - 1}
		// What it computes from here on is behind the close.
		b.emit(g, Op{Kind: OpRun, At: e.At, Reason: closing})
		return
	}
	at, ok := b.closings[e.Ref]
	by := receiver{g, e.Ref}
	if !ok || at.Op < 0 {
		return
	}
	knew := b.knows[by]
	b.knows[by] = true
	// A timer's call comes a time after the timer was set, and not at its time in the recording:
	// each request past its deadline would bring a faster program back to that.
	if knew || decided || b.G[at.List].called {
		return
	}
	b.emit(g, Op{Kind: OpWait, Arg: b.P.Tokens, At: e.At, Late: -1, Reason: trace.WaitReceive})
	b.Latecomers = append(b.Latecomers, latecomer{at, b.P.Tokens})
	b.P.Tokens++
	b.Dead = append(b.Dead, false)
}
