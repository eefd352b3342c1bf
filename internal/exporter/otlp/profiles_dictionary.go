package otlp

import (
	"encoding/binary"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilepb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/exporter/otlppb"
)

// A dictionary has the tables that the profiles of one message share. The first entry of each is
// the zero value, which stands for "none". All other entries are there once, and used.
type dictionary struct {
	tables                                          profilepb.ProfilesDictionary
	strings                                         map[string]int32
	functions, locations, stacks, links, attributes map[string]int32
	known                                           map[*profile.Location]int32
}

func newDictionary() *dictionary {
	d := &dictionary{
		strings: map[string]int32{"": 0}, functions: map[string]int32{}, locations: map[string]int32{},
		stacks: map[string]int32{"": 0}, links: map[string]int32{}, attributes: map[string]int32{},
		known: map[*profile.Location]int32{},
	}
	t := &d.tables
	t.StringTable = []string{""}
	t.MappingTable = []*profilepb.Mapping{{}}
	t.LocationTable = []*profilepb.Location{{}}
	t.FunctionTable = []*profilepb.Function{{}}
	t.LinkTable = []*profilepb.Link{{}}
	t.AttributeTable = []*profilepb.KeyValueAndUnit{{}}
	t.StackTable = []*profilepb.Stack{{}}
	return d
}

// intern returns the index of the entry with the key, which is made if there is none.
func intern[T any](table *[]*T, known map[string]int32, key string, entry func() *T) int32 {
	at, ok := known[key]
	if !ok {
		at = int32(len(*table))
		known[key] = at
		*table = append(*table, entry())
	}
	return at
}

func (d *dictionary) string(s string) int32 {
	s = strings.ToValidUTF8(s, "\uFFFD") // protobuf encodes nothing else
	at, ok := d.strings[s]
	if !ok {
		at = int32(len(d.tables.StringTable))
		d.strings[s] = at
		d.tables.StringTable = append(d.tables.StringTable, s)
	}
	return at
}

func (d *dictionary) valueType(v *profile.ValueType) *profilepb.ValueType {
	if v == nil {
		return nil
	}
	return &profilepb.ValueType{TypeStrindex: d.string(v.Type), UnitStrindex: d.string(v.Unit)}
}

func (d *dictionary) location(l *profile.Location) int32 {
	if at, ok := d.known[l]; ok {
		return at
	}
	out := &profilepb.Location{Lines: make([]*profilepb.Line, 0, len(l.Line))}
	var key []byte
	for _, line := range l.Line {
		to := &profilepb.Line{Line: max(0, line.Line), Column: max(0, line.Column)}
		if line.Function != nil {
			to.FunctionIndex = d.function(line.Function)
		}
		out.Lines = append(out.Lines, to)
		key = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(key, int64(to.FunctionIndex)), to.Line), to.Column)
	}
	// Frames that are inlined in each other are of one kind.
	if kind := locationType(l); kind != "" {
		out.AttributeIndices = []int32{d.attribute(frameTypeKey, "", otlppb.String(kind))}
	}
	if l.IsFolded {
		out.AttributeIndices = append(out.AttributeIndices, d.attribute(isFoldedKey, "", otlppb.Bool(true)))
	}
	key = append(append(key, '/'), indexes(out.AttributeIndices)...)
	if len(l.Line) == 0 && len(out.AttributeIndices) == 0 {
		return 0 // not known, which is what the first entry stands for
	}
	at := intern(&d.tables.LocationTable, d.locations, string(key), func() *profilepb.Location { return out })
	d.known[l] = at
	return at
}

// locationType is the type of the frames at a location.
func locationType(l *profile.Location) string {
	for _, line := range l.Line {
		if line.Function != nil {
			return frameType(line.Function)
		}
	}
	return ""
}

func (d *dictionary) function(f *profile.Function) int32 {
	out := &profilepb.Function{NameStrindex: d.string(f.Name), StartLine: max(0, f.StartLine)}
	if f.SystemName != f.Name {
		out.SystemNameStrindex = d.string(f.SystemName)
	}
	if f.Filename != "" {
		out.FilenameStrindex = d.string(path.Base(strings.ReplaceAll(f.Filename, `\`, "/")))
	}
	if out.NameStrindex == 0 && out.SystemNameStrindex == 0 && out.FilenameStrindex == 0 {
		return 0 // one of them must be there
	}
	key := indexes([]int32{out.NameStrindex, out.SystemNameStrindex, out.FilenameStrindex})
	key += strconv.FormatInt(out.StartLine, 16)
	return intern(&d.tables.FunctionTable, d.functions, key, func() *profilepb.Function { return out })
}

// stack interns the locations, leaf first in both formats.
func (d *dictionary) stack(locations []int32) int32 {
	return intern(&d.tables.StackTable, d.stacks, indexes(locations), func() *profilepb.Stack {
		return &profilepb.Stack{LocationIndices: locations}
	})
}

func (d *dictionary) attribute(key, unit string, value *commonpb.AnyValue) int32 {
	out := &profilepb.KeyValueAndUnit{KeyStrindex: d.string(key), UnitStrindex: d.string(unit), Value: value}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(out)
	if err != nil {
		return 0 // strings of labels are valid, see stringValue
	}
	return intern(&d.tables.AttributeTable, d.attributes, string(encoded), func() *profilepb.KeyValueAndUnit { return out })
}

// indexes makes a key of indexes.
func indexes(list []int32) string {
	var key []byte
	for _, i := range list {
		key = binary.AppendVarint(key, int64(i))
	}
	return string(key)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
