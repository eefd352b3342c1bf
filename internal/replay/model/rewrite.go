package model

import (
	"fmt"
	"path"
	"slices"

	"github.com/otelprof/otelprof/internal/glob"
)

// A question about the structure of a program, such as a lock that is split or a channel with more
// room, names an object by the place in the code where goroutines wait for it, as Recording.Waited
// lists them. Objects have no names in a trace. An object that no goroutine waited for has no
// place, and cannot be asked about.

// SitesAt reports by site whether a pattern matches it: the innermost function of the program
// itself, not of Go's or of otelprof's types, by its name, its name and line, or its file and line,
// as in "main.(*cache).get", "main.(*cache).get:42" and "cache.go:4*". See package glob for
// patterns. It takes a match for each site, which are far fewer than ops.
func (p *Program) SitesAt(pattern string) []bool {
	at := make([]bool, len(p.Rec.Sites))
	for i, site := range p.Rec.Sites {
		f, ok := site.Caller()
		line := fmt.Sprint(":", f.Line)
		at[i] = ok && (glob.Match(pattern, f.Func) || glob.Match(pattern, f.Func+line) || glob.Match(pattern, path.Base(f.File)+line))
	}
	return at
}

// ObjectsAt returns which objects goroutines wait for at the places that a pattern matches. One
// place may have many, as the lock of each element of a list: all of them are meant.
func (p *Program) ObjectsAt(pattern string) map[int32]bool {
	at, all := p.SitesAt(pattern), map[int32]bool{}
	for _, o := range p.All() {
		if o.Site > 0 && o.Kind >= OpLock && o.Kind != OpGather && o.Kind != OpWrite && at[o.Site] {
			all[o.Arg] = true
		}
	}
	return all
}

// Rewritten returns a copy of the program whose ops may be changed, and which may be settled. It
// copies what a settlement or a question changes in place, and clips what these append to, so that
// an append does not write into the array of the original. Everything else is shared, and must only
// be read. It takes the memory of all ops, which is most of a program.
func (p *Program) Rewritten() *Program {
	x := *p
	x.Compiled, x.Spare = nil, nil
	x.Lists = slices.Clone(p.Lists)
	for i := range x.Lists {
		p.Rec.Rests()
		x.Lists[i].Ops = slices.Clone(x.Lists[i].Ops)
	}
	x.Objects, x.Segments, x.Sets = slices.Clone(p.Objects), slices.Clip(p.Segments), slices.Clip(p.Sets)
	x.ownGrowths()
	x.Stations = slices.Clone(p.Stations)
	for i := range x.Stations {
		p.Rec.RestsAt(i)
		x.Stations[i].Objects = slices.Clone(x.Stations[i].Objects)
	}
	return &x
}

// ownGrowths gives a program copies of the growths that its objects have, one for each: GrowsAs
// adds to them by the numbers of sets, which each settlement of a draft counts on by itself.
func (p *Program) ownGrowths() {
	copies := map[*Growths]*Growths{nil: nil}
	own := func(g *Growths) *Growths {
		if _, ok := copies[g]; !ok {
			copies[g] = &Growths{g.Computing, slices.Clone(g.Outside)}
		}
		return copies[g]
	}
	for i := range p.Objects {
		o := &p.Objects[i]
		o.Growths, o.Least, o.Most = own(o.Growths), own(o.Least), own(o.Most)
	}
}
