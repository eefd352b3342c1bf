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

// TestPoolIsNoAnswer has the receiver of an element take something else from a pool and give it
// back, which the sender takes next: that is no answer to the sender.
func TestPoolIsNoAnswer(t *testing.T) {
	const work, pool = 0, 1
	for taken, want := range map[int32]int{pool: 0, work + 2: 1} {
		p := &model.Program{
			Rec:     &trace.Recording{},
			Objects: make([]model.ObjectInfo, 3),
			Lists: []model.List{
				{Ops: []model.Op{{Kind: model.OpSend, Arg: work, Segment: 1}, {Kind: model.OpReceive, Arg: pool, Segment: 2}}},
				{Ops: []model.Op{
					{Kind: model.OpReceive, Arg: work, Segment: 1},
					{Kind: model.OpReceive, Arg: taken},
					{Kind: model.OpOut, D: 1_000_000},
					{Kind: model.OpSend, Arg: pool, Segment: 2},
				}},
			},
			Segments: []model.Place{{}, {List: 1}, {Op: 1}},
		}
		if _, channels := delivered(p); channels[work].theirs != want {
			t.Errorf("taken from %d, given to %d: %d elements have the sender's work, want %d", taken, pool, channels[work].theirs, want)
		}
	}
}
