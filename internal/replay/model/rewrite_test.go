package model

import (
	"testing"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// TestRewrittenGrowths: a draft and its copy number new sets each for itself, so that what grows in
// set 2 of the one does not in set 2 of the other. Objects that share growths still do in the copy.
func TestRewrittenGrowths(t *testing.T) {
	fixed, each := Growth{Fixed: 1}, Growth{Each: 2}
	growths := &Growths{Outside: []Growth{fixed, each}}
	draft := &Program{Rec: &trace.Recording{}, Objects: []ObjectInfo{
		{Growing: Growing{Growths: growths, Least: growths, Most: growths}}, {Growing: Growing{Growths: growths}}, {},
	}}
	settled := draft.Rewritten()
	settled.GrowsAs(2, 0)
	draft.GrowsAs(2, 1)
	for name, tt := range map[string]struct {
		p    *Program
		want Growth
	}{"the copy": {settled, fixed}, "the draft": {draft, each}} {
		objects := tt.p.Objects
		if got := objects[0].Growths.Outside[2]; got != tt.want {
			t.Errorf("%s: %+v, want %+v as in the set before", name, got, tt.want)
		}
		if objects[0].Growths != objects[1].Growths || objects[0].Growths != objects[0].Most || objects[2].Growths != nil {
			t.Errorf("%s: %+v, want one growth for all that had one", name, objects)
		}
	}
}
