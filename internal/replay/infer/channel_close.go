package infer

import (
	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// letIn has those who close channels let go on who came later.
func letIn(b *model.Builder) {
	edits := map[int32]*cond.Edit{}
	for _, x := range b.Latecomers {
		after := cond.EditOf(edits, x.Closing.List).After
		at := int(x.Closing.Op)
		after[at] = append(after[at], model.Op{Kind: model.OpWake, Arg: x.Token, At: b.P.Op(x.Closing).At, Late: -1, Reason: trace.WaitReceive})
	}
	for l, e := range edits {
		e.Apply(&b.P.Lists[l])
	}
}
