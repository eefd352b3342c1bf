package otlp

import (
	"path"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/otelprof/otelprof/internal/exporter/otlppb"
	"github.com/otelprof/otelprof/internal/naming"
)

// Attributes of profiles: those of the semantic conventions for profiles and for pprof, and ours.
const (
	frameTypeKey         = "profile.frame.type"
	isFoldedKey          = "pprof.location.is_folded"
	commentKey           = "pprof.profile.comment"
	docURLKey            = "pprof.profile.doc_url"
	dropFramesKey        = "pprof.profile.drop_frames"
	keepFramesKey        = "pprof.profile.keep_frames"
	defaultSampleTypeKey = "pprof.scope.default_sample_type"
	sampleTypeOrderKey   = "pprof.scope.sample_type_order"

	regionNameKey  = "otelprof.region.name"
	regionScopeKey = "otelprof.region.scope"
	waitKey        = "otelprof.wait"
)

// attributeKey is the attribute that a label becomes. Internal labels are known to the process
// alone: the numbers of sessions, and of regions that have a name.
func attributeKey(label string, named bool) (key string, internal bool) {
	switch label {
	case naming.NameLabel:
		return regionNameKey, false
	case naming.ScopeLabel:
		return regionScopeKey, false
	case naming.WaitLabel:
		return waitKey, false
	case naming.RegionLabel:
		return label, named
	case naming.SessionLabel:
		return label, true
	}
	return label, false
}

// sampleTypeOrder is in which order the types are sent: the default one first, since the first is
// what backends show. In pprof that is the last one where none is named.
func sampleTypeOrder(p *profile.Profile) []int {
	order := make([]int, len(p.SampleType))
	for i := range order {
		order[i] = i
	}
	first := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == p.DefaultSampleType })
	if first < 0 {
		first = len(order) - 1
	}
	return slices.Insert(slices.Delete(order, first, first+1), 0, first)
}

func scopeAttributes(p *profile.Profile, order []int) []*commonpb.KeyValue {
	out := []*commonpb.KeyValue{{Key: sampleTypeOrderKey, Value: otlppb.Array(order, func(i int) *commonpb.AnyValue { return otlppb.Int(int64(i)) })}}
	if p.DefaultSampleType != "" {
		out = append(out, &commonpb.KeyValue{Key: defaultSampleTypeKey, Value: otlppb.String(p.DefaultSampleType)})
	}
	return out
}

// profileAttributes are what pprof has of a profile as a whole. A recording's own comments are for
// programs, which attributes must not be.
func (d *dictionary) profileAttributes(p *profile.Profile) []int32 {
	var out []int32
	comments := slices.DeleteFunc(slices.Clone(p.Comments), naming.IsRecordingComment)
	if len(comments) > 0 {
		out = append(out, d.attribute(commentKey, "", otlppb.Array(comments, otlppb.String)))
	}
	for _, text := range []struct{ key, value string }{
		{docURLKey, p.DocURL}, {dropFramesKey, p.DropFrames}, {keepFramesKey, p.KeepFrames},
	} {
		if text.value != "" {
			out = append(out, d.attribute(text.key, "", otlppb.String(text.value)))
		}
	}
	return out
}

// frameType is the profile.frame.type of a function, "" if its file leaves it open: assembly in a
// Go program is Go's.
func frameType(f *profile.Function) string {
	switch f.Name {
	case naming.KernelFrame:
		return "kernel"
	case naming.NotGoFrame:
		return "native"
	}
	switch path.Ext(strings.ReplaceAll(f.Filename, `\`, "/")) {
	case ".go", ".s":
		return "go"
	case ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".S":
		return "native"
	case ".rs":
		return "rust"
	}
	return ""
}

// list is the one value that labels mostly have, or an array of them.
func list[T any](values []T, value func(T) *commonpb.AnyValue) *commonpb.AnyValue {
	if len(values) == 1 {
		return value(values[0])
	}
	return otlppb.Array(values, value)
}
