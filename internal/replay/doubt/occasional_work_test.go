package doubt

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/cond"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestSurveyBehindSpansThatEndElsewhere: a span that begins here and ends on another goroutine is
// not around what this one waits for later. One that ends here is, until then.
func TestSurveyBehindSpansThatEndElsewhere(t *testing.T) {
	const handedOn, whole, waited = 0, 1, 1 // spans, and a site
	wait := model.Op{Kind: model.OpOut, Reason: trace.WaitNetwork, Site: waited, D: 5}
	p := &model.Program{
		Rec: &trace.Recording{Sites: make([]trace.Site, waited+1), Regions: []trace.Region{{Name: "job"}}, Spans: []trace.Span{handedOn: {Parent: trace.None}, whole: {Parent: trace.None}}},
		Lists: []model.List{
			{Ops: []model.Op{
				{Kind: model.OpOpen, Arg: handedOn},
				wait,
				{Kind: model.OpOpen, Arg: whole},
				wait,
				{Kind: model.OpClose, Arg: whole},
				wait,
			}},
			{Ops: []model.Op{{Kind: model.OpClose, Arg: handedOn}}},
		},
	}
	v := &surveyor{p: p, sites: cond.UsedAt(p), pieces: map[workKind][]piece{}}
	v.count()
	v.survey(0)
	pieces := v.pieces[workKind{trace.None, v.sites[waited]}]
	want := []int32{trace.None, whole, trace.None}
	if len(pieces) != len(want) {
		t.Fatalf("%d waits, want %d", len(pieces), len(want))
	}
	for i, x := range pieces {
		if x.parent != want[i] {
			t.Errorf("wait %d is within span %d, want %d", i, x.parent, want[i])
		}
	}
}
