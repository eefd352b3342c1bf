// Package pprofbuild makes profiles of pprof's format from frames.
package pprofbuild

import "github.com/google/pprof/profile"

// A Frame is one call in a stack.
type Frame struct {
	Func, File string
	Line       int
}

// A Builder adds functions and locations to a profile, each once. One goroutine may use it.
type Builder struct {
	Profile *profile.Profile

	functions map[Frame]*profile.Function // line 0
	locations map[Frame]*profile.Location
}

// NewBuilder returns a builder for a profile without locations.
func NewBuilder(p *profile.Profile) *Builder {
	return &Builder{Profile: p, functions: map[Frame]*profile.Function{}, locations: map[Frame]*profile.Location{}}
}

// Location returns the location of a frame.
func (b *Builder) Location(f Frame) *profile.Location {
	if l := b.locations[f]; l != nil {
		return l
	}
	function := Frame{Func: f.Func, File: f.File}
	fn := b.functions[function]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.Profile.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
		b.functions[function] = fn
		b.Profile.Function = append(b.Profile.Function, fn)
	}
	l := &profile.Location{ID: uint64(len(b.Profile.Location) + 1), Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
	b.locations[f] = l
	b.Profile.Location = append(b.Profile.Location, l)
	return l
}
