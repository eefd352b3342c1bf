package stacks

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/instrumentation"
)

// Comments of a profile that is a recording.
const (
	regionComment = "otelprof region " // number, name and scope
	lostComment   = "otelprof lost samples "
	cpuComment    = "otelprof cpu ns "
)

// WritePprof writes the recording as a gzipped profile in pprof's format, symbols included: any
// pprof reads it, on any machine, and [Read] gives the recording back. The samples of a region have
// its number as the label otelprof_region; which name that is stands in the comments. There are
// no addresses, no directories, and no labels of the application's.
func (r *Recording) WritePprof(w io.Writer) error { return r.profile().Write(w) }

func (r *Recording) profile() *profile.Profile {
	b := newProfileBuilder(r)
	for _, region := range r.Regions {
		if region.Number != 0 {
			b.name(region.Number, region.Region)
		}
		b.add(region.Tree, region.Number, nil)
	}
	return b.profile
}

// profileBuilder makes a profile of trees.
type profileBuilder struct {
	profile   *profile.Profile
	functions map[Frame]*profile.Function // line 0
	locations map[Frame]*profile.Location
}

func newProfileBuilder(r *Recording) *profileBuilder {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     1e9 / int64(max(1, r.Hz)),
	}
	if !r.Start.IsZero() {
		p.TimeNanos = r.Start.UnixNano()
	}
	p.DurationNanos = int64(r.Duration)
	if r.CPU > 0 {
		p.Comments = append(p.Comments, cpuComment+strconv.FormatInt(int64(r.CPU), 10))
	}
	if r.Lost > 0 {
		p.Comments = append(p.Comments, lostComment+strconv.FormatInt(r.Lost, 10))
	}
	return &profileBuilder{profile: p, functions: map[Frame]*profile.Function{}, locations: map[Frame]*profile.Location{}}
}

func (b *profileBuilder) name(number int, r Region) {
	b.profile.Comments = append(b.profile.Comments, fmt.Sprintf("%s%d %q %q", regionComment, number, r.Name, r.Scope.Name))
}

// add adds the stacks of a tree.
func (b *profileBuilder) add(t *Tree, number int, labels map[string][]string) {
	var numbers map[string][]int64
	if number != 0 {
		numbers = map[string][]int64{regionLabel: {int64(number)}}
	}
	t.Leaves(func(stack []Frame, w Weight) {
		s := &profile.Sample{Value: []int64{w.Samples, w.Nanos}, Label: maps.Clone(labels), NumLabel: maps.Clone(numbers)}
		for _, f := range stack {
			s.Location = append(s.Location, b.location(f))
		}
		b.profile.Sample = append(b.profile.Sample, s)
	})
}

func (b *profileBuilder) location(f Frame) *profile.Location {
	if l := b.locations[f]; l != nil {
		return l
	}
	function := Frame{Func: f.Func, File: f.File}
	fn := b.functions[function]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.profile.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
		b.functions[function] = fn
		b.profile.Function = append(b.profile.Function, fn)
	}
	l := &profile.Location{ID: uint64(len(b.profile.Location) + 1), Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
	b.locations[f] = l
	b.profile.Location = append(b.profile.Location, l)
	return l
}

// regionNames reads the comments.
func regionNames(comments []string) map[int]Region {
	names := map[int]Region{}
	for _, c := range comments {
		rest, ok := strings.CutPrefix(c, regionComment)
		if !ok {
			continue
		}
		var number int
		var name, scope string
		if n, err := fmt.Sscanf(rest, "%d %q %q", &number, &name, &scope); err == nil && n == 3 && number > 0 {
			names[number] = Region{Scope: instrumentation.Scope{Name: scope}, Name: name}
		}
	}
	return names
}

// numberComment reads a number after a prefix, 0 if there is none.
func numberComment(comments []string, prefix string) int64 {
	for _, c := range comments {
		if rest, ok := strings.CutPrefix(c, prefix); ok {
			if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
				return max(0, n)
			}
		}
	}
	return 0
}
