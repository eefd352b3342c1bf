package cond

import (
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// An Anchor is a kind of op that a list comes back to: a landmark of the code, alike each time a
// goroutine passes there. Tokens, spans and goroutines have new numbers each time, so that ops
// cannot be compared by Arg alone; an anchor has what stays: the region of a span, the site of a
// wait, the object of an operation. Two anchors are the same landmark if they are equal (==).
//
// Rules use them to ask "what came before?": a limiter is asked each time between the same two
// landmarks, answers are waited for behind the same one, and a list begins anew where it was before
// (package infer, loops.go). Two landmarks of the code that are alike in all four fields, such as
// two sends to one channel in one span, cannot be distinguished.
type Anchor struct {
	Kind model.OpKind
	// Arg is the object, of spans the region, of OpVisit the progress point; 0 where Site counts.
	Arg int32
	// Site is where a goroutine waits, or where one that is started begins, as an index of
	// Rec.Sites, for these alone: which token ends a wait differs each time.
	Site int32
	// Set is the regions that are open, as an index of Program.Sets: the same code within another
	// span is another landmark.
	Set uint16
}

// AnchorOf returns what kind of op that is, false if lists do not begin anew behind it.
func AnchorOf(p *model.Program, o *model.Op) (Anchor, bool) {
	switch o.Kind {
	// Computing is cut into ops by what happens around it, a wake-up depends on whether another
	// goroutine waits, a started goroutine and a select statement have numbers of their own, and
	// behind OpOpen a span is open.
	case model.OpRun, model.OpWake, model.OpSpawn, model.OpOpen, model.OpChoose, model.OpOffer:
		return Anchor{}, false
	}
	a := WithinAny(p, o)
	a.Set = o.Set
	return a, true
}

// WithinAny returns what kind of op that is, whichever regions are open.
func WithinAny(p *model.Program, o *model.Op) Anchor {
	switch o.Kind {
	case model.OpOpen, model.OpClose:
		return Anchor{Kind: o.Kind, Arg: p.Rec.Spans[o.Arg].Region}
	case model.OpSpawn:
		return Anchor{Kind: o.Kind, Site: p.Lists[o.Arg].Site}
	case model.OpWait, model.OpOut, model.OpDue, model.OpGather:
		return Anchor{Kind: o.Kind, Site: o.Site}
	}
	return Anchor{Kind: o.Kind, Arg: o.Arg}
}

// UsedAt numbers the places in the program that sites are about: the same for all ways there, by
// the innermost frame outside of packages runtime and sync. The result is by site, and is a new
// slice each time; it takes one pass over the sites.
func UsedAt(p *model.Program) []int32 { return trace.Numbered(p.Rec.Sites, trace.Site.User) }
