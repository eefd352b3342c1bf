package otlp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	profilepb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/exporter/otlppb"
)

// Rules of the protocol and of the conventions for a message of profiles, including the rules of
// the profiling SIG's profcheck. Each returns what breaks it.
var profileRules = map[string]func(*profilepb.ProfilesData) []string{
	"zero values":      zeroValues,
	"indexes":          indexesInRange,
	"no duplicates":    noDuplicates,
	"no orphans":       noOrphans,
	"sample identity":  sampleIdentities,
	"one value":        oneValueEach,
	"different keys":   differentKeys,
	"IDs of links":     linkIDs,
	"functions, lines": functionsAndLines,
	"not empty":        notEmpty,
}

func broken(data *profilepb.ProfilesData) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(profileRules)) {
		for _, problem := range profileRules[name](data) {
			out = append(out, name+": "+problem)
		}
	}
	return out
}

func holdRules(t *testing.T, data *profilepb.ProfilesData) {
	t.Helper()
	if problems := broken(data); problems != nil {
		t.Errorf("rules:\n%s", strings.Join(problems, "\n"))
	}
}

func eachProfile(data *profilepb.ProfilesData, f func(*profilepb.Profile)) {
	for _, r := range data.ResourceProfiles {
		for _, s := range r.ScopeProfiles {
			for _, p := range s.Profiles {
				f(p)
			}
		}
	}
}

func notEmpty(data *profilepb.ProfilesData) (out []string) {
	if len(data.ResourceProfiles) == 0 {
		out = append(out, "no resource profiles")
	}
	for _, r := range data.ResourceProfiles {
		if len(r.ScopeProfiles) == 0 {
			out = append(out, "no scope profiles")
		}
		for _, s := range r.ScopeProfiles {
			if len(s.Profiles) == 0 {
				out = append(out, "no profiles")
			}
		}
	}
	return out
}

// messages are the tables of messages, by name.
func messages(d *profilepb.ProfilesDictionary) map[string][]proto.Message {
	return map[string][]proto.Message{
		"mapping": asMessages(d.MappingTable), "location": asMessages(d.LocationTable), "function": asMessages(d.FunctionTable),
		"link": asMessages(d.LinkTable), "attribute": asMessages(d.AttributeTable), "stack": asMessages(d.StackTable),
	}
}

func asMessages[T proto.Message](table []T) []proto.Message {
	var out []proto.Message
	for _, m := range table {
		out = append(out, m)
	}
	return out
}

func zeroValues(data *profilepb.ProfilesData) (out []string) {
	if table := data.Dictionary.StringTable; len(table) == 0 || table[0] != "" {
		out = append(out, "strings begin with another than the empty one")
	}
	for name, table := range messages(data.Dictionary) {
		if len(table) == 0 || proto.Size(table[0]) != 0 {
			out = append(out, name+" table begins with another than the zero value")
		}
	}
	return out
}

func noDuplicates(data *profilepb.ProfilesData) (out []string) {
	seen := map[string]bool{}
	for _, s := range data.Dictionary.StringTable {
		if seen["string "+s] {
			out = append(out, fmt.Sprintf("string %q", s))
		}
		seen["string "+s] = true
	}
	for name, table := range messages(data.Dictionary) {
		for i, m := range table {
			encoded, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m) // what holds no invalid text never fails
			if key := name + " " + string(encoded); seen[key] {
				out = append(out, fmt.Sprintf("%s %d: %v", name, i, m))
			} else {
				seen[key] = true
			}
		}
	}
	return out
}

// references calls f with each index that stands in the message, and the table that it is one of.
func references(data *profilepb.ProfilesData, f func(table string, index int32)) {
	d := data.Dictionary
	attributes := func(list []int32) {
		for _, i := range list {
			f("attribute", i)
		}
	}
	valueType := func(v *profilepb.ValueType) {
		f("string", v.GetTypeStrindex())
		f("string", v.GetUnitStrindex())
	}
	eachProfile(data, func(p *profilepb.Profile) {
		valueType(p.SampleType)
		valueType(p.PeriodType)
		attributes(p.AttributeIndices)
		for _, s := range p.Samples {
			f("stack", s.StackIndex)
			f("link", s.LinkIndex)
			attributes(s.AttributeIndices)
		}
	})
	for _, s := range d.StackTable {
		for _, l := range s.LocationIndices {
			f("location", l)
		}
	}
	for _, l := range d.LocationTable {
		f("mapping", l.MappingIndex)
		attributes(l.AttributeIndices)
		for _, line := range l.Lines {
			f("function", line.FunctionIndex)
		}
	}
	for _, m := range d.MappingTable {
		f("string", m.FilenameStrindex)
		attributes(m.AttributeIndices)
	}
	for _, fn := range d.FunctionTable {
		f("string", fn.NameStrindex)
		f("string", fn.SystemNameStrindex)
		f("string", fn.FilenameStrindex)
	}
	for _, a := range d.AttributeTable {
		f("string", a.KeyStrindex)
		f("string", a.UnitStrindex)
	}
}

func sizes(d *profilepb.ProfilesDictionary) map[string]int {
	out := map[string]int{"string": len(d.StringTable)}
	for name, table := range messages(d) {
		out[name] = len(table)
	}
	return out
}

func indexesInRange(data *profilepb.ProfilesData) (out []string) {
	size := sizes(data.Dictionary)
	references(data, func(table string, i int32) {
		if i < 0 || int(i) >= size[table] {
			out = append(out, fmt.Sprintf("%s %d of %d", table, i, size[table]))
		}
	})
	return out
}

func noOrphans(data *profilepb.ProfilesData) (out []string) {
	used := map[string]map[int32]bool{}
	references(data, func(table string, i int32) {
		if used[table] == nil {
			used[table] = map[int32]bool{}
		}
		used[table][i] = true
	})
	for table, size := range sizes(data.Dictionary) {
		for i := 1; i < size; i++ {
			if !used[table][int32(i)] {
				out = append(out, fmt.Sprintf("%s %d", table, i))
			}
		}
	}
	return out
}

func sampleIdentities(data *profilepb.ProfilesData) (out []string) {
	eachProfile(data, func(p *profilepb.Profile) {
		seen := map[string]bool{}
		for i, s := range p.Samples {
			attributes := slices.Sorted(slices.Values(s.AttributeIndices))
			id := fmt.Sprint(s.StackIndex, s.LinkIndex, attributes)
			if seen[id] {
				out = append(out, fmt.Sprintf("sample %d is one before it: %s", i, id))
			}
			seen[id] = true
		}
	})
	return out
}

func oneValueEach(data *profilepb.ProfilesData) (out []string) {
	eachProfile(data, func(p *profilepb.Profile) {
		for i, s := range p.Samples {
			if len(s.Values) != 1 || len(s.TimestampsUnixNano) != 0 {
				out = append(out, fmt.Sprintf("sample %d: %v", i, s))
			}
		}
	})
	return out
}

func differentKeys(data *profilepb.ProfilesData) (out []string) {
	d := data.Dictionary
	check := func(where string, list []int32) {
		seen := map[int32]bool{}
		for _, i := range list {
			if int(i) >= len(d.AttributeTable) {
				continue // another rule's
			}
			if key := d.AttributeTable[i].KeyStrindex; seen[key] {
				out = append(out, fmt.Sprintf("%s: %q twice", where, d.StringTable[key]))
			} else {
				seen[key] = true
			}
		}
	}
	eachProfile(data, func(p *profilepb.Profile) {
		check("profile", p.AttributeIndices)
		for _, s := range p.Samples {
			check("sample", s.AttributeIndices)
		}
	})
	for _, l := range d.LocationTable {
		check("location", l.AttributeIndices)
	}
	return out
}

func linkIDs(data *profilepb.ProfilesData) (out []string) {
	for i, l := range data.Dictionary.LinkTable[1:] {
		if len(l.TraceId) != 16 || len(l.SpanId) != 8 {
			out = append(out, fmt.Sprintf("link %d: %d and %d bytes, want 16 and 8", i+1, len(l.TraceId), len(l.SpanId)))
		}
	}
	return out
}

func functionsAndLines(data *profilepb.ProfilesData) (out []string) {
	for i, f := range data.Dictionary.FunctionTable[1:] {
		if f.NameStrindex == 0 && f.SystemNameStrindex == 0 && f.FilenameStrindex == 0 || f.StartLine < 0 {
			out = append(out, fmt.Sprintf("function %d: %v", i+1, f))
		}
	}
	for i, l := range data.Dictionary.LocationTable {
		for _, line := range l.Lines {
			if line.Line < 0 || line.Column < 0 {
				out = append(out, fmt.Sprintf("location %d: %v", i, line))
			}
		}
	}
	return out
}

// oddProfile has all that could break a rule.
func oddProfile() *profile.Profile {
	p := testProfile()
	outer, inner := p.Location[0], p.Location[1]
	nameless := &profile.Function{ID: 3}
	again := &profile.Function{ID: 4, Name: "main.main", SystemName: "main.main", Filename: "/elsewhere/main.go", StartLine: 10}
	c := &profile.Function{ID: 5, Name: "memcpy", Filename: "string.c", StartLine: -1}
	p.Function = append(p.Function, nameless, again, c)
	unknown := &profile.Location{ID: 3, Address: 3}
	empty := &profile.Location{ID: 4, Line: []profile.Line{{Function: nameless}}}
	twin := &profile.Location{ID: 5, Line: []profile.Line{{Function: again, Line: 12}}}
	folded := &profile.Location{ID: 6, Line: []profile.Line{{Function: c, Line: -5}}, IsFolded: true}
	unused := &profile.Location{ID: 7, Line: []profile.Line{{Function: c, Line: 99}}}
	p.Location = append(p.Location, unknown, empty, twin, folded, unused)
	label := func(pairs ...string) map[string][]string {
		out := map[string][]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = []string{pairs[i+1]}
		}
		return out
	}
	add := func(label map[string][]string, number map[string][]int64, value int64, stack ...*profile.Location) {
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{value, value * 1000}, Label: label, NumLabel: number})
	}
	add(nil, nil, 1, inner, twin) // as the first one
	add(nil, nil, 1)
	add(nil, nil, 1, unknown, empty, outer)
	add(nil, nil, 0, unused)
	add(label("only", "here"), nil, 0, outer)
	add(nil, nil, 2, folded, outer)
	region := label("span_name", "GET /", "span_scope", "shop", "trace_id", testTrace, "span_id", testSpan)
	add(region, map[string][]int64{"otelprof_region": {17}, "otelprof_session": {3}}, 4, outer)
	add(region, map[string][]int64{"otelprof_region": {18}}, 4, outer)
	add(label("tenant", "a", "otelprof.region.name", "theirs", "span_name", "ours"), map[string][]int64{"tenant": {1}}, 5, outer)
	add(label("otelprof_region", "9"), nil, 6, outer)
	add(label("bad", "\xff", "\xfe", "key"), nil, 7, outer)
	add(label("wait", "sync"), nil, 8, outer)
	p.Comments = []string{`otelprof region 17 "GET /" "shop"`, "built by hand"}
	p.DropFrames, p.KeepFrames, p.DocURL, p.DefaultSampleType = "drop", "keep", "https://example.com/doc", "samples"
	return p
}

func TestProfileRules(t *testing.T) {
	profiles := map[string]*profile.Profile{"plain": testProfile(), "odd": oddProfile(), "no samples": {SampleType: testProfile().SampleType}}
	maps.Copy(profiles, runtimeProfiles(t))
	for name, p := range profiles {
		t.Run(name, func(t *testing.T) {
			data, err := convertProfile(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			holdRules(t, data)
		})
	}
}

// TestRulesFind breaks each rule.
func TestRulesFind(t *testing.T) {
	for want, spoil := range map[string]func(*profilepb.ProfilesData){
		"zero values: link": func(d *profilepb.ProfilesData) { d.Dictionary.LinkTable[0].SpanId = []byte{1} },
		"indexes: stack":    func(d *profilepb.ProfilesData) { first(d).Samples[0].StackIndex = 99 },
		"no duplicates: stack": func(d *profilepb.ProfilesData) {
			t := d.Dictionary
			t.StackTable = append(t.StackTable, t.StackTable[1])
		},
		"no duplicates: string": func(d *profilepb.ProfilesData) {
			t := d.Dictionary
			t.StringTable = append(t.StringTable, t.StringTable[1])
		},
		"no orphans: string": func(d *profilepb.ProfilesData) {
			d.Dictionary.StringTable = append(d.Dictionary.StringTable, "orphan")
		},
		"sample identity: sample": func(d *profilepb.ProfilesData) {
			p := first(d)
			p.Samples = append(p.Samples, p.Samples[0])
		},
		"one value: sample": func(d *profilepb.ProfilesData) { first(d).Samples[0].Values = []int64{1, 2} },
		"different keys: sample": func(d *profilepb.ProfilesData) {
			s := first(d).Samples[1]
			s.AttributeIndices = append(s.AttributeIndices, s.AttributeIndices[0])
		},
		"IDs of links: link":         func(d *profilepb.ProfilesData) { d.Dictionary.LinkTable[1].SpanId = nil },
		"functions, lines: location": func(d *profilepb.ProfilesData) { d.Dictionary.LocationTable[1].Lines[0].Line = -1 },
		"not empty: no profiles": func(d *profilepb.ProfilesData) {
			d.ResourceProfiles[0].ScopeProfiles[0].Profiles = nil
		},
	} {
		data, err := convertProfile(testProfile(), nil)
		if err != nil {
			t.Fatal(err)
		}
		spoil(data)
		if problems := broken(data); !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, want) }) {
			t.Errorf("%s: found %q", want, problems)
		}
	}
}

func first(d *profilepb.ProfilesData) *profilepb.Profile {
	return d.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
}

// attributesOf returns attributes as text.
func attributesOf(d *profilepb.ProfilesDictionary, list []int32) map[string]string {
	out := map[string]string{}
	for _, i := range list {
		a := d.AttributeTable[i]
		value := a.Value.GetStringValue()
		if value == "" {
			value = a.Value.String()
		}
		out[d.StringTable[a.KeyStrindex]] = value
	}
	return out
}

// TestProfileAttributes is about names: those of regions, and of the semantic conventions.
func TestProfileAttributes(t *testing.T) {
	p := oddProfile()
	data, err := convertProfile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, scope := data.Dictionary, data.ResourceProfiles[0].ScopeProfiles[0]
	if !strings.HasPrefix(scope.SchemaUrl, "https://opentelemetry.io/schemas/") {
		t.Errorf("schema URL %q", scope.SchemaUrl)
	}
	wantScope := map[string]string{
		sampleTypeOrderKey:   otlppb.Array([]int64{0, 1}, otlppb.Int).String(),
		defaultSampleTypeKey: otlppb.String("samples").String(),
	}
	gotScope := map[string]string{}
	for _, kv := range scope.Scope.Attributes {
		gotScope[kv.Key] = kv.Value.String()
	}
	if diff := cmp.Diff(wantScope, gotScope); diff != "" {
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	wantProfile := map[string]string{
		commentKey: otlppb.Array([]string{"built by hand"}, otlppb.String).String(), docURLKey: "https://example.com/doc", dropFramesKey: "drop", keepFramesKey: "keep",
	}
	if diff := cmp.Diff(wantProfile, attributesOf(d, first(data).AttributeIndices)); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	var samples []map[string]string
	for _, s := range first(data).Samples {
		if a := attributesOf(d, s.AttributeIndices); len(a) > 0 && a["bytes"] == "" {
			if s.LinkIndex != 0 {
				a["link"] = fmt.Sprintf("%x %x, %d", d.LinkTable[s.LinkIndex].TraceId, d.LinkTable[s.LinkIndex].SpanId, s.Values[0])
			}
			samples = append(samples, a)
		}
	}
	want := []map[string]string{
		{regionNameKey: "GET /", regionScopeKey: "shop", "link": testTrace + " " + testSpan + ", 8"},
		{"tenant": "a", regionNameKey: "theirs"},
		{"otelprof_region": "9"},
		{"bad": "\uFFFD", "\uFFFD": "key"},
		{waitKey: "sync"},
	}
	if diff := cmp.Diff(want, samples); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	types := map[string]map[string]string{}
	for _, l := range d.LocationTable {
		if len(l.Lines) > 0 {
			types[d.StringTable[d.FunctionTable[l.Lines[0].FunctionIndex].NameStrindex]] = attributesOf(d, l.AttributeIndices)
		}
	}
	wantTypes := map[string]map[string]string{
		"": {}, "main.main": {frameTypeKey: "go"}, "main.work": {frameTypeKey: "go"},
		"memcpy": {frameTypeKey: "native", isFoldedKey: otlppb.Bool(true).String()},
	}
	if diff := cmp.Diff(wantTypes, types); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

// TestDefaultTypeIsFirst: without a name it is pprof's last.
func TestDefaultTypeIsFirst(t *testing.T) {
	for name, want := range map[string]string{"": "cpu", "samples": "samples", "cpu": "cpu", "unknown": "cpu"} {
		p := testProfile()
		p.DefaultSampleType = name
		data, err := convertProfile(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := data.Dictionary.StringTable[first(data).SampleType.TypeStrindex]; got != want {
			t.Errorf("default %q: the first profile is %s, want %s", name, got, want)
		}
	}
}
