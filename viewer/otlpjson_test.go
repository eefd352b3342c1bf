package viewer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/spans"
)

// tracesFrom reads an answer with the Collector's own code.
func tracesFrom(t *testing.T, a answer) ptrace.Traces {
	t.Helper()
	if a.code != 200 || a.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Fatalf("status %d, %q: %s", a.code, a.header.Get("Content-Type"), a.body)
	}
	td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces([]byte(a.body))
	if err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return td
}

func TestSessionAsOTLP(t *testing.T) {
	h := testHandler(t, nil)
	a := ask(t, h, "GET", "/api/v1/sessions/"+testID(3).String()+"?format=otlp", "")
	td := tracesFrom(t, a)
	checkEqual(t, "file name", a.header.Get("Content-Disposition"), `attachment; filename="session-`+testID(3).String()+`.json"`)
	var document map[string]any
	if err := json.Unmarshal([]byte(a.body), &document); err != nil || len(document) != 1 || document["resourceSpans"] == nil {
		t.Errorf("%v: want one object with resourceSpans: %s", err, a.body)
	}
	checkEqual(t, "spans", td.SpanCount(), 2)
	checkEqual(t, "resources", td.ResourceSpans().Len(), 1)
	rs := td.ResourceSpans().At(0)
	checkEqual(t, "resource", rs.Resource().Attributes().AsRaw(), map[string]any{"service.name": "shop"})
	root, child := rs.ScopeSpans().At(0).Spans().At(0), rs.ScopeSpans().At(1).Spans().At(0)
	checkEqual(t, "scope", []string{rs.ScopeSpans().At(1).Scope().Name(), rs.ScopeSpans().At(1).Scope().Version()}, []string{"sql", "1"})
	start := testStart.Add(3 * time.Second)
	checkEqual(t, "root", []any{root.Name(), root.Kind(), root.ParentSpanID().IsEmpty(), root.StartTimestamp().AsTime(), root.EndTimestamp().AsTime()},
		[]any{"root", ptrace.SpanKindServer, true, start, start.Add(4 * time.Millisecond)})
	checkEqual(t, "tags", root.Attributes().AsRaw(), map[string]any{"tenant": "t1"})
	checkEqual(t, "IDs", []string{root.TraceID().String(), root.SpanID().String(), child.TraceID().String(), child.ParentSpanID().String(), child.SpanID().String()},
		[]string{strings.Repeat("0", 31) + "3", "0000000000000001", strings.Repeat("0", 31) + "3", "0000000000000001", "0000000000000009"})
	checkEqual(t, "status", []any{child.Status().Code(), child.Status().Message()}, []any{ptrace.StatusCodeError, "no stock"})
	checkEqual(t, "times", []any{child.StartTimestamp().AsTime(), child.EndTimestamp().AsTime()},
		[]any{start.Add(500 * time.Microsecond), start.Add(3500 * time.Microsecond)})
	if diff := cmp.Diff(map[string]any{
		"db.query.text": "SELECT <b>", "big": int64(1 << 60), "hit": true, "parts": []any{0.5, 1.0}, string(naming.DelayKey): int64(1000),
	}, child.Attributes().AsRaw()); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	event, link := child.Events().At(0), child.Links().At(0)
	checkEqual(t, "event", []any{event.Name(), event.Timestamp().AsTime(), event.Attributes().AsRaw()},
		[]any{"exception", start.Add(2 * time.Millisecond), map[string]any{"exception.type": "E"}})
	checkEqual(t, "link", []string{link.TraceID().String(), link.SpanID().String()}, []string{strings.Repeat("0", 31) + "1", "0000000000000002"})

	got := errorOf(t, ask(t, h, "GET", "/api/v1/sessions/"+testID(3).String()+"?format=yaml", ""), 400)
	checkEqual(t, "unknown format", got, `format "yaml": must be json or otlp`)
}

// What the provider or the sampler left out is made up for or missing, but the document is valid.
func TestSessionAsOTLPWithoutIDs(t *testing.T) {
	other := instrumentation.Scope{Name: "db", Attributes: attribute.NewSet(attribute.Int("x", 1)), SchemaURL: "https://schema/1"}
	s := &spans.SessionRecord{
		ID: testID(0), Name: "job", Start: testStart, Duration: time.Second,
		Attributes: []attribute.KeyValue{attribute.String("service.name", "jobs"), attribute.String("tenant", "t1")},
		Spans: []spans.SpanRecord{
			{Name: "job\xff", Parent: -1, Duration: time.Second},
			{Name: "load", Parent: 0, Scope: other, Duration: time.Second},
			{Name: "SELECT", Parent: 1, Scope: other, Attributes: []attribute.KeyValue{attribute.String("service.name", "db")}},
		},
	}
	h, err := NewHandler(Sources{
		Regions: func() []spans.RegionStats { return nil }, Store: fakeStore{s}, Service: "shop",
	}, WithHosts("viewer.test"))
	if err != nil {
		t.Fatal(err)
	}
	td := tracesFrom(t, ask(t, h, "GET", "/api/v1/sessions/"+s.ID.String()+"?format=otlp", ""))
	type line struct{ Service, Scope, Name, ID, Parent string }
	var got []line
	for _, rs := range td.ResourceSpans().All() {
		service, _ := rs.Resource().Attributes().Get("service.name")
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				checkEqual(t, "trace", span.TraceID().String(), s.ID.String())
				got = append(got, line{service.Str(), ss.Scope().Name() + ss.SchemaUrl(), span.Name(), span.SpanID().String(), span.ParentSpanID().String()})
			}
		}
	}
	if diff := cmp.Diff([]line{
		{"jobs", "", "job\uFFFD", "0000000000000001", ""},
		{"jobs", "dbhttps://schema/1", "load", "0000000000000002", "0000000000000001"},
		{"db", "dbhttps://schema/1", "SELECT", "0000000000000003", "0000000000000002"},
	}, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestTraceURL(t *testing.T) {
	one := func(opts ...Option) string {
		h := testHandler(t, nil, opts...)
		return decode[sessionJSON](t, ask(t, h, "GET", "/api/v1/sessions/"+testID(3).String(), ""), 200).TraceURL
	}
	checkEqual(t, "without the option", one(), "")
	checkEqual(t, "with it", one(WithTraceURL("http://localhost:16686/trace/{trace_id}?q={trace_id}")),
		"http://localhost:16686/trace/"+strings.Repeat("0", 31)+"3?q="+strings.Repeat("0", 31)+"3")

	c, err := newConfig([]Option{WithTraceURL("https://traces.example/{trace_id}")})
	if err != nil {
		t.Fatal(err)
	}
	unsampled := testSession(3)
	for i := range unsampled.Spans {
		unsampled.Spans[i].Sampled = false
	}
	checkEqual(t, "of a session that was not sampled", c.traceURLOf(unsampled), "")
	withoutID := testSession(3)
	withoutID.TraceID = trace.TraceID{}
	checkEqual(t, "of a session without trace ID", c.traceURLOf(withoutID), "")

	for address, want := range map[string]string{
		"":                               `viewer: configuration: trace URL "": must be an address with http or https`,
		"/trace/{trace_id}":              `viewer: configuration: trace URL "/trace/{trace_id}": must be an address with http or https`,
		"javascript:alert({trace_id})":   `viewer: configuration: trace URL "javascript:alert({trace_id})": must be an address with http or https`,
		"http://localhost:16686/trace/x": `viewer: configuration: trace URL "http://localhost:16686/trace/x": must contain {trace_id}`,
		"https://a b/{trace_id}":         `viewer: configuration: trace URL "https://a b/{trace_id}": must be an address with http or https`,
	} {
		if _, err := newConfig([]Option{WithTraceURL(address)}); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", address, err, want)
		}
	}
}
