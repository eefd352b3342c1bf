package infer

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestParentBeforeTheWindow has the receiver of an element open a span whose parent is not in the
// window: that is no evidence for the sender, also if it is the first goroutine of the recording.
func TestParentBeforeTheWindow(t *testing.T) {
	p := &model.Program{
		Rec:     &trace.Recording{Spans: []trace.Span{{Parent: trace.None}, {Parent: 0}}},
		Objects: make([]model.ObjectInfo, 1),
		Lists: []model.List{
			{Ops: []model.Op{{Kind: model.OpSend, Segment: 1}}},
			{Ops: []model.Op{{Kind: model.OpReceive, Segment: 1}, {Kind: model.OpOpen, Arg: 1}}},
		},
		Segments: []model.Place{{}, {List: 1}},
	}
	if _, channels := delivered(p); channels[0].all != 1 || channels[0].theirs != 0 {
		t.Errorf("of %d elements %d have the sender's work, want 0 of 1", channels[0].all, channels[0].theirs)
	}
}
