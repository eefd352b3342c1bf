package otlp

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilepb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/otelprof/otelprof/internal/exporter/otlppb"
	"github.com/otelprof/otelprof/internal/naming"
)

// The labels of a sample that become its link to a span. Their values are hexadecimal.
const (
	traceIDLabel = naming.TraceIDLabel
	spanIDLabel  = naming.SpanIDLabel
)

// profileScope is the instrumentation scope of all profiles.
const profileScope = "github.com/otelprof/otelprof/spans/stacks"

// convertProfile makes the ProfilesData of OTLP v1development of a pprof profile: one Profile for
// each type of sample, with stacks, functions and strings in common tables. The profile's default
// type, or the last one, is the first, which is what backends show. Each sample has another
// combination of stack, attributes and link; the values of equal ones are added up, and 0 is left
// out.
//
// Samples with both of the labels traceIDLabel and spanIDLabel get a link to that span. The labels
// that recordings have for regions become otelprof.region.name and otelprof.region.scope, and their
// number, which only its own process knows, is left out. Other labels become attributes of the same
// name. Frames have a profile.frame.type where their file shows it. What pprof has beyond OTLP
// becomes pprof.* attributes, as semantic conventions say.
//
// Functions, the base names of their files, and lines leave the process, and comments that are not
// recordings' own; addresses, mappings and directories do not.
func convertProfile(p *profile.Profile, r *resource.Resource) (*profilepb.ProfilesData, error) {
	if p == nil {
		return nil, fmt.Errorf("otlp: profile nil: must not be nil")
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("otlp: profile: %w", err)
	}
	if len(p.SampleType) == 0 {
		return nil, fmt.Errorf("otlp: profile: no sample type: must have one")
	}
	d := newDictionary()
	samples := make([]sampleIdentity, len(p.Sample))
	for i, s := range p.Sample {
		if slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 }) { // of others the tables would have orphans
			samples[i] = d.identity(s)
		}
	}
	order := sampleTypeOrder(p)
	scope := &profilepb.ScopeProfiles{
		Scope:     &commonpb.InstrumentationScope{Name: profileScope, Attributes: scopeAttributes(p, order)},
		SchemaUrl: semconv.SchemaURL,
	}
	attributes := d.profileAttributes(p)
	for _, i := range order {
		out := &profilepb.Profile{
			SampleType:       d.valueType(p.SampleType[i]),
			TimeUnixNano:     uint64(max(0, p.TimeNanos)),
			DurationNano:     uint64(max(0, p.DurationNanos)),
			PeriodType:       d.valueType(p.PeriodType),
			Period:           p.Period,
			ProfileId:        make([]byte, 16),
			AttributeIndices: attributes,
		}
		_, _ = rand.Read(out.ProfileId) // it never fails
		out.Samples = sum(p.Sample, samples, i)
		scope.Profiles = append(scope.Profiles, out)
	}
	return &profilepb.ProfilesData{
		ResourceProfiles: []*profilepb.ResourceProfiles{{
			Resource:      &resourcepb.Resource{Attributes: otlppb.KeyValues(r.Attributes())},
			SchemaUrl:     r.SchemaURL(),
			ScopeProfiles: []*profilepb.ScopeProfiles{scope},
		}},
		Dictionary: &d.tables,
	}, nil
}

// A sampleIdentity is all of a sample but its values, as indexes into the dictionary.
type sampleIdentity struct {
	stack, link int32
	attributes  []int32
	key         string // of the attributes
}

// sum makes the samples of one type.
func sum(samples []*profile.Sample, identities []sampleIdentity, kind int) []*profilepb.Sample {
	type key struct {
		stack, link int32
		attributes  string
	}
	var out []*profilepb.Sample
	seen := map[key]*profilepb.Sample{}
	for i, s := range samples {
		id, value := &identities[i], s.Value[kind]
		if value == 0 {
			continue
		}
		k := key{id.stack, id.link, id.key}
		if before := seen[k]; before != nil {
			before.Values[0] += value
			continue
		}
		seen[k] = &profilepb.Sample{StackIndex: id.stack, LinkIndex: id.link, AttributeIndices: id.attributes, Values: []int64{value}}
		out = append(out, seen[k])
	}
	return out
}

func (d *dictionary) identity(s *profile.Sample) sampleIdentity {
	locations := make([]int32, 0, len(s.Location))
	for _, l := range s.Location {
		locations = append(locations, d.location(l))
	}
	id := sampleIdentity{stack: d.stack(locations), link: d.link(s)}
	seen := map[string]bool{} // the keys of a sample are different
	if id.link != 0 {
		seen[traceIDLabel], seen[spanIDLabel] = true, true
	}
	named := len(s.Label[naming.NameLabel]) > 0
	add := func(label, unit string, value *commonpb.AnyValue) {
		key, internal := attributeKey(label, named)
		if internal || seen[key] {
			return
		}
		seen[key] = true
		id.attributes = append(id.attributes, d.attribute(key, unit, value))
	}
	for _, label := range sortedKeys(s.Label) {
		add(label, "", list(s.Label[label], otlppb.String))
	}
	for _, label := range sortedKeys(s.NumLabel) {
		unit := ""
		if units := s.NumUnit[label]; len(units) > 0 {
			unit = units[0]
		}
		add(label, unit, list(s.NumLabel[label], otlppb.Int))
	}
	slices.Sort(id.attributes)
	id.key = indexes(id.attributes)
	return id
}

// link returns the link of a sample whose labels name a span, 0 for any other.
func (d *dictionary) link(s *profile.Sample) int32 {
	trace, span := hexLabel(s, traceIDLabel, 16), hexLabel(s, spanIDLabel, 8)
	if trace == nil || span == nil {
		return 0
	}
	return intern(&d.tables.LinkTable, d.links, string(trace)+string(span), func() *profilepb.Link {
		return &profilepb.Link{TraceId: trace, SpanId: span}
	})
}

// hexLabel returns the bytes of an ID, nil if there is none. An ID of zeros is none.
func hexLabel(s *profile.Sample, label string, size int) []byte {
	values := s.Label[label]
	if len(values) != 1 {
		return nil
	}
	id, err := hex.DecodeString(values[0])
	if err != nil || len(id) != size || !slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		return nil
	}
	return id
}
