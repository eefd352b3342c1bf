package cond

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// An Anchor is a kind of op that a list comes back to.
type Anchor struct {
	Kind model.OpKind
	Arg  int32
	Site int32
	Set  uint16
}

// AnchorOf returns what kind of op that is, false if lists do not begin anew behind it.
func AnchorOf(p *model.Program, o *model.Op) (Anchor, bool) {
	a := Anchor{Kind: o.Kind, Set: o.Set}
	switch o.Kind {
	case model.OpClose:
		a.Arg = p.Rec.Spans[o.Arg].Region
	case model.OpWait, model.OpOut, model.OpDue, model.OpGather:
		a.Site = o.Site
	case model.OpRun, model.OpWake, model.OpSpawn, model.OpOpen, model.OpChoose, model.OpOffer:
		return a, false
	default:
		a.Arg = o.Arg
	}
	return a, true
}

// UsedAt numbers the places in the program that sites are about: the same for all ways there.
func UsedAt(p *model.Program) []int32 { return trace.Numbered(p.Rec.Sites, trace.Site.User) }
