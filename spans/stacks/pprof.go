package stacks

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/pprofbuild"
	"github.com/otelprof/otelprof/spans"
)

// WritePprof writes the recording as a gzipped profile in pprof's format, symbols included: any
// pprof reads it, on any machine, and [Read] gives the recording back. The samples of a region have
// its name and scope as the labels span_name and span_scope, so that pprof's -tagfocus and
// -tagroot=span_name work, and its number as otelprof_region. Comments say the [Origin]. There are
// no addresses, no directories, and no labels of the application's.
func (r *Recording) WritePprof(w io.Writer) error { return r.profile().Write(w) }

func (r *Recording) profile() *profile.Profile {
	b := newProfileBuilder(r)
	for _, region := range r.Regions {
		b.add(region.Tree, region.Number, region.Region, nil, sameWeight)
	}
	return b.Profile
}

// profileBuilder makes a profile of trees.
type profileBuilder struct {
	*pprofbuild.Builder
	named map[int]bool
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
	p.Comments = append(p.Comments, originComments(r.Origin)...)
	return &profileBuilder{pprofbuild.NewBuilder(p), map[int]bool{}}
}

// name puts the name of a region into the comments, once.
func (b *profileBuilder) name(number int, r spans.Region) {
	if !b.named[number] {
		b.named[number] = true
		b.Profile.Comments = append(b.Profile.Comments, fmt.Sprintf("%s%d %q %q", regionComment, number, r.Name, r.Scope.Name))
	}
}

func withDefaults(labels, defaults map[string]string) map[string]string {
	out := maps.Clone(defaults)
	maps.Copy(out, labels)
	return out
}

// add adds the stacks of a tree with other weights. Labels are others than those of the region,
// whose number is 0 if there is none.
func (b *profileBuilder) add(t *Tree, number int, r spans.Region, labels map[string]string, weight func(Weight) Weight) {
	var numbers map[string][]int64
	texts := map[string][]string{}
	if number != 0 {
		b.name(number, r)
		numbers = map[string][]int64{naming.RegionLabel: {int64(number)}}
		labels = withDefaults(labels, map[string]string{naming.NameLabel: r.Name, naming.ScopeLabel: r.Scope.Name})
	}
	for key, value := range labels {
		if value != "" { // which pprof has no way to write
			texts[key] = []string{value}
		}
	}
	t.Leaves(func(stack []Frame, w Weight) {
		w = weight(w)
		s := &profile.Sample{Value: []int64{w.Samples, w.Nanos}, Label: maps.Clone(texts), NumLabel: maps.Clone(numbers)}
		for _, f := range stack {
			s.Location = append(s.Location, b.Location(pprofbuild.Frame(f)))
		}
		b.Profile.Sample = append(b.Profile.Sample, s)
	})
}

// regionNames reads the labels and, since they say all, the comments.
func regionNames(p *profile.Profile) map[int]spans.Region {
	names := map[int]spans.Region{}
	for _, s := range p.Sample {
		if name, number := s.Label[naming.NameLabel], numberOf(s); len(name) == 1 && number != 0 {
			scope := strings.Join(s.Label[naming.ScopeLabel], " ")
			names[number] = spans.Region{Scope: instrumentation.Scope{Name: scope}, Name: name[0]}
		}
	}
	for _, c := range p.Comments {
		rest, ok := strings.CutPrefix(c, regionComment)
		if !ok {
			continue
		}
		var number int
		var name, scope string
		if n, err := fmt.Sscanf(rest, "%d %q %q", &number, &name, &scope); err == nil && n == 3 && number > 0 {
			names[number] = spans.Region{Scope: instrumentation.Scope{Name: scope}, Name: name}
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
