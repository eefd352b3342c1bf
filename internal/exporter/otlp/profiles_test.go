package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	colprofilepb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	profilepb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otelprof/otelprof/internal/testutil"
)

const (
	testTrace = "0102030405060708090a0b0c0d0e0f10"
	testSpan  = "0102030405060708"
)

// testProfile has two samples, the second with a link and an attribute, of main calling work.
func testProfile() *profile.Profile {
	main := &profile.Function{ID: 1, Name: "main.main", SystemName: "main.main", Filename: "/home/somebody/src/main.go", StartLine: 10}
	work := &profile.Function{ID: 2, Name: "main.work", Filename: `C:\src\work.go`}
	outer := &profile.Location{ID: 1, Address: 0x1000, Line: []profile.Line{{Function: main, Line: 12}}}
	inner := &profile.Location{ID: 2, Address: 0x2000, Line: []profile.Line{{Function: work, Line: 5}}}
	return &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1_000_000,
		TimeNanos:     1_700_000_000_000_000_000,
		DurationNanos: 5_000_000_000,
		Sample: []*profile.Sample{
			{Location: []*profile.Location{inner, outer}, Value: []int64{3, 3_000_000}},
			{
				Location: []*profile.Location{outer}, Value: []int64{2, 2_000_000},
				Label:    map[string][]string{traceIDLabel: {testTrace}, spanIDLabel: {testSpan}},
				NumLabel: map[string][]int64{"bytes": {64}}, NumUnit: map[string][]string{"bytes": {"bytes"}},
			},
		},
		Location: []*profile.Location{outer, inner},
		Function: []*profile.Function{main, work},
	}
}

// profilesEnv enables profiles and returns an exporter for them.
func newProfiles(t *testing.T, endpoint string, p Protocol, l *testutil.Log) *ProfileExporter {
	t.Helper()
	t.Setenv("OTEL_PROFILES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
	pipeline, err := ProfilesFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewProfileExporter(pipeline, resource.NewSchemaless(attribute.String("service.name", "shop")), l.Logger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Shutdown(context.Background()) })
	return e
}

func TestProfilesAreDelivered(t *testing.T) {
	for _, p := range protocols {
		for _, compression := range []string{"none", "gzip"} {
			t.Run(string(p)+"/"+compression, func(t *testing.T) {
				r := newProfileReceiver(t)
				t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
				t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-test=a%20b, x-other=c")
				var l testutil.Log
				e := newProfiles(t, r.endpoint(p), p, &l)
				if err := e.Export(t.Context(), testProfile()); err != nil {
					t.Fatal(err)
				}
				if len(r.requests) != 1 {
					t.Fatalf("%d requests, want 1", len(r.requests))
				}
				if got := r.headers[0].Get("X-Test") + "," + r.headers[0].Get("X-Other"); got != "a b,c" {
					t.Errorf("headers %q, want a b,c", got)
				}
				if got := r.headers[0].Get(profilesVersionHeader); p == ProtocolHTTPProtobuf && got != "1" {
					t.Errorf("header %s = %q, want 1", profilesVersionHeader, got)
				}
				if diff := cmp.Diff(stacksOfPprof(testProfile()), stacksOfOTLP(t, r.requests[0])); diff != "" {
					t.Errorf("stacks (-sent +received):\n%s", diff)
				}
				if s := e.Stats(); s.Exported != 2 || s.Ended() != 2 {
					t.Errorf("Stats = %+v, want 2 exported of 2", s)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				if err := e.Export(t.Context(), testProfile()); !errors.Is(err, errShutdown) {
					t.Errorf("Export after Shutdown = %v, want errShutdown", err)
				}
				if l.String() != "" {
					t.Errorf("said %q, want nothing", l.String())
				}
			})
		}
	}
}

// stacksOfPprof sums the values of each type, stack and link: "cpu main.work:work.go:5 main.main…".
func stacksOfPprof(p *profile.Profile) map[string]int64 {
	out := map[string]int64{}
	for _, s := range p.Sample {
		var text strings.Builder
		for _, l := range s.Location {
			for _, line := range l.Line {
				file := line.Function.Filename
				file = file[strings.LastIndexAny(file, `/\`)+1:]
				fmt.Fprintf(&text, " %s:%s:%d", line.Function.Name, file, line.Line)
			}
			text.WriteString(";")
		}
		if len(s.Label[traceIDLabel]) > 0 {
			fmt.Fprintf(&text, " link %s %s", s.Label[traceIDLabel][0], s.Label[spanIDLabel][0])
		}
		for i, kind := range p.SampleType {
			if s.Value[i] != 0 {
				out[kind.Type+"/"+kind.Unit+text.String()] += s.Value[i]
			}
		}
	}
	return out
}

// stacksOfOTLP does the same for what was received, and checks the rules for dictionaries.
func stacksOfOTLP(t *testing.T, in *colprofilepb.ExportProfilesServiceRequest) map[string]int64 {
	t.Helper()
	d := in.Dictionary
	holdRules(t, &profilepb.ProfilesData{ResourceProfiles: in.ResourceProfiles, Dictionary: d})
	out := map[string]int64{}
	for _, p := range in.ResourceProfiles[0].ScopeProfiles[0].Profiles {
		for _, s := range p.Samples {
			var text strings.Builder
			for _, l := range d.StackTable[s.StackIndex].LocationIndices {
				for _, line := range d.LocationTable[l].Lines {
					f := d.FunctionTable[line.FunctionIndex]
					fmt.Fprintf(&text, " %s:%s:%d", d.StringTable[f.NameStrindex], d.StringTable[f.FilenameStrindex], line.Line)
				}
				text.WriteString(";")
			}
			if link := d.LinkTable[s.LinkIndex]; s.LinkIndex != 0 {
				fmt.Fprintf(&text, " link %x %x", link.TraceId, link.SpanId)
			}
			key := d.StringTable[p.SampleType.TypeStrindex] + "/" + d.StringTable[p.SampleType.UnitStrindex] + text.String()
			if len(s.Values) != 1 || len(s.TimestampsUnixNano) != 0 {
				t.Errorf("sample %v: must have one value and no timestamps", s)
			}
			out[key] += s.Values[0]
		}
	}
	return out
}

func TestProfileMetadata(t *testing.T) {
	data, err := convertProfile(testProfile(), resource.NewSchemaless(
		attribute.String("service.name", "shop"), attribute.Int64Slice("ids", []int64{1, 2}), attribute.Bool("b", true), attribute.Float64("f", 0.5)))
	if err != nil {
		t.Fatal(err)
	}
	var attributes []string
	for _, kv := range data.ResourceProfiles[0].Resource.Attributes {
		attributes = append(attributes, kv.Key)
	}
	if diff := cmp.Diff([]string{"b", "f", "ids", "service.name"}, attributes); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	table := data.Dictionary.StringTable
	profiles := data.ResourceProfiles[0].ScopeProfiles[0].Profiles
	if len(profiles) != 2 {
		t.Fatalf("%d profiles, want one for each of 2 sample types", len(profiles))
	}
	for _, p := range profiles {
		if p.Period != 1_000_000 || table[p.PeriodType.TypeStrindex] != "cpu" || table[p.PeriodType.UnitStrindex] != "nanoseconds" {
			t.Errorf("period %d %v, want a million of cpu nanoseconds", p.Period, p.PeriodType)
		}
		if p.TimeUnixNano != 1_700_000_000_000_000_000 || p.DurationNano != 5_000_000_000 || len(p.ProfileId) != 16 {
			t.Errorf("profile %v: time, duration or ID differ", p)
		}
		linked := p.Samples[1]
		attribute := data.Dictionary.AttributeTable[linked.AttributeIndices[0]]
		if len(linked.AttributeIndices) != 1 || table[attribute.KeyStrindex] != "bytes" || table[attribute.UnitStrindex] != "bytes" || attribute.Value.GetIntValue() != 64 {
			t.Errorf("attributes %v, want bytes = 64 bytes alone", attribute)
		}
	}
	for _, s := range table {
		if strings.ContainsAny(s, `\`) || strings.Contains(s, "somebody") {
			t.Errorf("string table has the directory of %q", s)
		}
	}
}

// runtimeProfiles are some that package runtime/pprof writes, by name.
func runtimeProfiles(t *testing.T) map[string]*profile.Profile {
	t.Helper()
	all := map[string]*profile.Profile{}
	for _, name := range []string{"goroutine", "heap", "threadcreate"} {
		var b bytes.Buffer
		if err := pprof.Lookup(name).WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = p
	}
	return all
}

// TestRealProfile converts what package runtime/pprof writes.
func TestRealProfile(t *testing.T) {
	for name, p := range runtimeProfiles(t) {
		data, err := convertProfile(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := stacksOfOTLP(t, &colprofilepb.ExportProfilesServiceRequest{ResourceProfiles: data.ResourceProfiles, Dictionary: data.Dictionary})
		if diff := cmp.Diff(stacksOfPprof(p), got); diff != "" {
			t.Errorf("%s: stacks (-pprof +OTLP):\n%s", name, diff)
		}
	}
}

func TestConvertProfileRefuses(t *testing.T) {
	broken := testProfile()
	broken.Sample[0].Value = nil
	for name, p := range map[string]*profile.Profile{"nil": nil, "broken": broken, "empty": {}} {
		if data, err := convertProfile(p, nil); err == nil || !strings.HasPrefix(err.Error(), "otlp: profile") {
			t.Errorf("%s: ConvertProfile = %v, %v: want an error", name, data, err)
		}
	}
}

// TestLinkNeedsBothIDs keeps labels that name no span as attributes.
func TestLinkNeedsBothIDs(t *testing.T) {
	for name, labels := range map[string]map[string][]string{
		"no span":   {traceIDLabel: {testTrace}},
		"no trace":  {spanIDLabel: {testSpan}},
		"short":     {traceIDLabel: {"01"}, spanIDLabel: {testSpan}},
		"zeros":     {traceIDLabel: {strings.Repeat("0", 32)}, spanIDLabel: {testSpan}},
		"not hex":   {traceIDLabel: {strings.Repeat("x", 32)}, spanIDLabel: {testSpan}},
		"two spans": {traceIDLabel: {testTrace}, spanIDLabel: {testSpan, testSpan}},
	} {
		p := testProfile()
		p.Sample[1].Label = labels
		data, err := convertProfile(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := data.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[1]
		if s.LinkIndex != 0 || len(data.Dictionary.LinkTable) != 1 || len(s.AttributeIndices) != len(labels)+1 {
			t.Errorf("%s: sample %v, want no link, and attributes", name, s)
		}
	}
}

func TestEqualSamplesAreOne(t *testing.T) {
	p := testProfile()
	p.Sample = append(p.Sample, p.Sample[0], &profile.Sample{Location: p.Sample[1].Location, Value: []int64{0, 0}})
	data, err := convertProfile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	samples := data.ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples
	if len(samples) != 2 || samples[0].Values[0] != 6_000_000 {
		t.Errorf("samples %v, want two, the first of 6 ms", samples)
	}
}

func TestProfilesAreTriedAgain(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newProfileReceiver(t)
			r.failures = []error{status.Error(codes.Unavailable, "told to")}
			r.answers = []http.Handler{answerStatus(http.StatusServiceUnavailable, "")}
			var l testutil.Log
			e := newProfiles(t, r.endpoint(p), p, &l)
			if err := e.Export(t.Context(), testProfile()); err != nil {
				t.Errorf("Export: %v", err)
			}
			if s := e.Stats(); len(r.requests) != 1 || s.Exported != 2 || s.Failed != 0 {
				t.Errorf("%d requests, Stats %+v: want 1, and 2 exported", len(r.requests), s)
			}
		})
	}
}

func TestProfilesAreRefused(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newProfileReceiver(t)
			for range 2 {
				r.failures = append(r.failures, status.Error(codes.Unimplemented, "unknown service"))
				r.answers = append(r.answers, answerStatus(http.StatusNotFound, ""))
			}
			var l testutil.Log
			e := newProfiles(t, r.endpoint(p), p, &l)
			for range 2 {
				if err := e.Export(t.Context(), testProfile()); err == nil {
					t.Error("Export = nil, want the refusal")
				}
			}
			if s := e.Stats(); s.Failed != 4 || s.FailedExports != 2 || s.Exported != 0 {
				t.Errorf("Stats = %+v, want 4 failed in 2 exports", s)
			}
			if lines := l.Await(1); len(lines) != 1 || !strings.Contains(lines[0], "profiles not delivered") {
				t.Errorf("said %q, want it once", lines)
			}
			if err := e.Shutdown(t.Context()); err == nil {
				t.Error("Shutdown = nil, want the failure")
			}
		})
	}
}

func TestProfilesPartialSuccess(t *testing.T) {
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			r := newProfileReceiver(t)
			r.partial = 1
			var l testutil.Log
			e := newProfiles(t, r.endpoint(p), p, &l)
			if err := e.Export(t.Context(), testProfile()); err == nil || !strings.Contains(err.Error(), "1 profiles rejected: too deep") {
				t.Errorf("Export = %v, want the partial success", err)
			}
			if s := e.Stats(); s.Exported != 1 || s.Rejected != 1 || s.Failed != 0 {
				t.Errorf("Stats = %+v, want 1 exported, 1 rejected", s)
			}
		})
	}
}

func TestProfilesDeadEndpoint(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + l.Addr().String()
	l.Close()
	for _, p := range protocols {
		t.Run(string(p), func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
			var l testutil.Log
			e := newProfiles(t, endpoint, p, &l)
			for range 2 {
				if err := e.Export(t.Context(), testProfile()); err == nil {
					t.Error("Export = nil, want an error")
				}
			}
			if lines := l.Await(1); len(lines) != 1 {
				t.Errorf("said %q, want it once", lines)
			}
			if s := e.Stats(); s.Failed != 4 || s.Outage == "" {
				t.Errorf("Stats = %+v, want 4 failed, and why", s)
			}
		})
	}
}

func TestProfilesShutdownEndsExports(t *testing.T) {
	r := newProfileReceiver(t)
	for range 100 {
		r.answers = append(r.answers, answerStatus(http.StatusServiceUnavailable, "1"))
	}
	var l testutil.Log
	e := newProfiles(t, r.httpURL, ProtocolHTTPProtobuf, &l)
	exported := make(chan error, 1)
	go func() { exported <- e.Export(context.Background(), testProfile()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = e.Shutdown(ctx)
	if err := <-exported; err == nil {
		t.Error("Export during Shutdown = nil, want an error")
	}
}

func TestProfilesFromEnv(t *testing.T) {
	const endpoint = "http://collector:4318"
	for name, c := range map[string]struct {
		env  map[string]string
		want Pipeline
	}{
		"nothing":       {nil, Pipeline{}},
		"endpoint only": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, Pipeline{}},
		"switched off":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_PROFILES_EXPORTER": "none"}, Pipeline{}},
		"SDK disabled":  {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_PROFILES_EXPORTER": "otlp"}, Pipeline{}},
		"default": {
			map[string]string{"OTEL_PROFILES_EXPORTER": "otlp"},
			Pipeline{Enabled: true, Protocol: ProtocolHTTPProtobuf, Endpoint: "http://localhost:4318/v1development/profiles"},
		},
		"base": {
			map[string]string{"OTEL_PROFILES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint + "/base/"},
			Pipeline{Enabled: true, Protocol: ProtocolHTTPProtobuf, Endpoint: endpoint + "/base/v1development/profiles"},
		},
		"its own": {
			map[string]string{"OTEL_PROFILES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": endpoint + "/x", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:1"},
			Pipeline{Enabled: true, Protocol: ProtocolHTTPProtobuf, Endpoint: endpoint + "/x"},
		},
		"grpc": {
			map[string]string{"OTEL_PROFILES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4317"},
			Pipeline{Enabled: true, Protocol: ProtocolGRPC, Endpoint: "https://collector:4317"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			got, err := ProfilesFromEnv()
			if err != nil {
				t.Fatal(err)
			}
			c.want.target = c.want.Endpoint
			if got != c.want {
				t.Errorf("ProfilesFromEnv = %+v, want %+v", got, c.want)
			}
		})
	}
	if _, err := NewProfileExporter(Pipeline{}, nil, nil); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("NewProfileExporter without a pipeline = %v, want ErrNotConfigured", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "soon": 0, "7": 7 * time.Second, "9223372036854775807": maxTimeout,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", value, got, want)
		}
	}
}

// BenchmarkConvertProfile converts a profile of 10,000 different stacks.
func BenchmarkConvertProfile(b *testing.B) {
	p := testProfile()
	for i := range 10_000 {
		l := &profile.Location{ID: uint64(i + 3), Line: []profile.Line{{Function: p.Function[0], Line: int64(i)}}}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l, p.Location[0]}, Value: []int64{1, 1}})
	}
	b.ReportAllocs()
	var data *profilepb.ProfilesData
	for b.Loop() {
		data, _ = convertProfile(p, nil)
	}
	_ = data
}
