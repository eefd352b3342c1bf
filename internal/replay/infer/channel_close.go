package infer

import (
	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// A close is a broadcast: it lets all receivers go on that wait (closechan in runtime/chan.go), and
// all that come later need not wait at all. A recording shows a wait for the first, and nothing for
// a latecomer:
//
//	recorded   A  works ........ close
//	           B  works ............. receives, goes on
//	B faster   A  works ........ close
//	           B  works .. waits |
//	                             goes on
//
// The builder has put a wait for a token before each receive that found a channel closed. Here the
// close gives these tokens. A close is known by its mark, so that this is for recorded operations
// alone. It is right as the first receive of a closed channel can be no earlier than its close
// (TestLateForAClose).
//
// A close has no op of its own: its place is the op before it. Where that computes, and goes on
// behind the close without anything else in between, a latecomer goes on only when it is over.

// letIn has a goroutine that closes a channel let the latecomers go on. The wake-ups are put in
// behind the op before the close, all of one list at once, for places to stay valid. A latecomer
// that came when the window had begun, and whose channel was closed before, has no token and never
// waits.
func letIn(b *model.Builder) {
	edits := cond.Edits{}
	for _, x := range b.Latecomers {
		after := edits.Of(x.Closing.List).After
		at := int(x.Closing.Op)
		after[at] = append(after[at], model.Op{Kind: model.OpWake, Arg: x.Token, At: b.P.Op(x.Closing).At, Late: -1, Reason: trace.WaitReceive})
	}
	edits.Apply(b.P)
}
