package model

import (
	"fmt"
	"path"
	"slices"

	"github.com/otelprof/otelprof/internal/glob"
)

// IsAt reports whether a site is where a pattern says.
func (p *Program) IsAt(site int32, pattern string) bool {
	f, ok := p.Rec.Sites[site].Caller()
	line := fmt.Sprint(":", f.Line)
	return ok && (glob.Match(pattern, f.Func) || glob.Match(pattern, f.Func+line) || glob.Match(pattern, path.Base(f.File)+line))
}

// ObjectsAt returns which objects goroutines wait for where a pattern says.
func (p *Program) ObjectsAt(pattern string) map[int32]bool {
	all := map[int32]bool{}
	for i := range p.Lists {
		for k := range p.Lists[i].Ops {
			if o := &p.Lists[i].Ops[k]; o.Site > 0 && o.Kind >= OpLock && p.IsAt(o.Site, pattern) {
				all[o.Arg] = true
			}
		}
	}
	return all
}

// Rewritten returns a copy of the program whose ops may be changed, and which may be settled.
func (p *Program) Rewritten() *Program {
	x := *p
	x.Compiled, x.Spare = nil, nil
	x.Lists = slices.Clone(p.Lists)
	for i := range x.Lists {
		p.Rec.Rests()
		x.Lists[i].Ops = slices.Clone(x.Lists[i].Ops)
	}
	x.Objects, x.Segments, x.Sets = slices.Clone(p.Objects), slices.Clip(p.Segments), slices.Clip(p.Sets)
	x.Stations = slices.Clone(p.Stations)
	for i := range x.Stations {
		p.Rec.RestsAt(i)
		x.Stations[i].Objects = slices.Clone(x.Stations[i].Objects)
	}
	return &x
}
