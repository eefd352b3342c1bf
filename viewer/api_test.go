package viewer

import (
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

func TestRegions(t *testing.T) {
	h := testHandler(t, nil)
	a := ask(t, h, "GET", "/api/v1/regions", "")
	got := decode[regionsJSON](t, a, 200)
	var names []string
	for _, r := range got.Regions {
		names = append(names, r.Name)
	}
	checkEqual(t, "order", names, []string{"GET /items/{id}", "a", "b", "none yet"})
	checkEqual(t, "dropped", got.Dropped.QueueFull, 3)
	checkEqual(t, "self", time.Duration(got.SelfNs), 4*time.Second)
	first := got.Regions[0]
	checkEqual(t, "share", first.SelfShare, 0.5)
	checkEqual(t, "kind", first.Kind, "server")
	checkEqual(t, "mean", first.MeanNs, 500_500)
	checkEqual(t, "min, max", []uint64{first.MinNs, first.MaxNs}, []uint64{1000, 1_000_000})
	for _, p := range []struct{ got, want uint64 }{
		{first.P50Ns, 500_000}, {first.P90Ns, 900_000}, {first.P99Ns, 990_000}, {first.P999Ns, 999_000},
	} {
		if diff := math.Abs(float64(p.got)/float64(p.want) - 1); diff > got.RelativeError {
			t.Errorf("percentile = %d, want %d within %g", p.got, p.want, got.RelativeError)
		}
	}
	if b := ask(t, h, "GET", "/api/v1/regions", ""); a.body != b.body {
		t.Error("two answers about the same differ")
	}
}

func TestDistribution(t *testing.T) {
	h := testHandler(t, nil)
	at := func(name, query string) string {
		return "/api/v1/regions/distribution?name=" + url.QueryEscape(name) + query
	}
	got := decode[distributionJSON](t, ask(t, h, "GET", at("GET /items/{id}", "&scope=shop"), ""), 200)
	var sum uint64
	for i, b := range got.Bins {
		sum += b.Count
		if i > 0 && b.LowNs != got.Bins[i-1].HighNs+1 {
			t.Errorf("bin %d begins at %d, want %d", i, b.LowNs, got.Bins[i-1].HighNs+1)
		}
	}
	checkEqual(t, "sum of the bins", sum, 1000)
	checkEqual(t, "name", got.Name, "GET /items/{id}")
	none := decode[distributionJSON](t, ask(t, h, "GET", at("none yet", ""), ""), 200)
	checkEqual(t, "bins of an empty region", len(none.Bins), 0)
	errorOf(t, ask(t, h, "GET", at("a", "&scope=other"), ""), 404)
	errorOf(t, ask(t, h, "GET", at("unknown", ""), ""), 404)
}

func TestBins(t *testing.T) {
	for i := range 250 {
		low, next := binLow(i), binLow(i+1)
		if got := binIndex(low); got != i {
			t.Errorf("binIndex(binLow(%d)) = %d", i, got)
		}
		if got := binIndex(next - 1); got != i {
			t.Errorf("binIndex(%d) = %d, want %d", next-1, got, i)
		}
	}
	h, err := otelhdr.NewHistogram()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []uint64{0, 1, math.MaxUint64} {
		h.Record(v)
	}
	bins := binsOf(h.Snapshot(nil))
	last := bins[len(bins)-1]
	if last.Count != 1 || last.HighNs != math.MaxUint64 || bins[0].LowNs != 0 {
		t.Errorf("bins of the extremes: first %+v, last %+v", bins[0], last)
	}
}

func TestSessions(t *testing.T) {
	h := testHandler(t, nil)
	list := func(query string) sessionsJSON {
		t.Helper()
		return decode[sessionsJSON](t, ask(t, h, "GET", "/api/v1/sessions"+query, ""), 200)
	}
	all := list("")
	checkEqual(t, "default limit", len(all.Sessions), 100)
	checkEqual(t, "more", all.More, true)
	checkEqual(t, "newest", all.Sessions[0].ID, testID(299))
	checkEqual(t, "hot", *all.Sessions[0].Hot, hotJSON{"SELECT stock", 1, int64(225 * time.Millisecond), 0.75})

	for _, c := range []struct {
		query string
		first spans.SessionID
		n     int
		more  bool
	}{
		{"?limit=1", testID(299), 1, true},
		{"?limit=1000", testID(299), 300, false},
		{"?limit=300", testID(299), 300, false},
		{"?sort=newest&limit=2", testID(299), 2, true},
		{"?sort=worst&errors=1&limit=1000", testID(293), 30, false},
		{"?min_ms=250.5&limit=1000", testID(299), 50, false},
		{"?name=CHECK&limit=1000", testID(298), 150, false},
		{"?name=CHECK&limit=20", testID(298), 20, true},
		{"?errors=0&name=cart&limit=150", testID(299), 150, false},
		{"?name=SELECT+stock&limit=1000", testID(299), 300, false}, // a span's
	} {
		got := list(c.query)
		if len(got.Sessions) != c.n || got.More != c.more || got.Sessions[0].ID != c.first {
			t.Errorf("%s: %d sessions from %s, more %v, want %d from %s, %v",
				c.query, len(got.Sessions), got.Sessions[0].ID, got.More, c.n, c.first, c.more)
		}
	}
	for _, name := range []string{"nothing", "select+stock", "SELECT"} { // a span's is not looked for in parts
		if got := list("?name=" + name); len(got.Sessions) != 0 {
			t.Errorf("%d sessions of the name %s", len(got.Sessions), name)
		}
	}
	if a := ask(t, h, "GET", "/api/v1/sessions?name=nothing", ""); !strings.HasPrefix(a.body, `{"sessions":[],`) {
		t.Errorf("empty list is %s", a.body)
	}
}

// The ID that a tracing backend shows leads to the newest session of that trace.
func TestSessionOfTrace(t *testing.T) {
	h := testHandler(t, nil)
	id := trace.TraceID{0: 0xab, 15: 1}
	store := fakeStore{testSession(1), testSession(2), testSession(3)}
	store[0].TraceID, store[1].TraceID = id, id
	h.store = store
	got := decode[sessionJSON](t, ask(t, h, "GET", "/api/v1/sessions/"+id.String(), ""), 200)
	checkEqual(t, "session", got.ID, testID(2))
	id[0]++
	if got := errorOf(t, ask(t, h, "GET", "/api/v1/sessions/"+id.String(), ""), 404); !strings.Contains(got, "or its trace") {
		t.Errorf("error %q", got)
	}
}

func TestSessionsBadParameter(t *testing.T) {
	h := testHandler(t, nil)
	for query, want := range map[string]string{
		"limit=abc":   `limit "abc": must be an integer in [1, 1000]`,
		"limit=0":     `limit "0": must be an integer in [1, 1000]`,
		"limit=1001":  `limit "1001": must be an integer in [1, 1000]`,
		"min_ms=-1":   `min_ms "-1": must be a number of milliseconds, not negative`,
		"min_ms=NaN":  `min_ms "NaN": must be a number of milliseconds, not negative`,
		"min_ms=1e99": `min_ms "1e99": must be a number of milliseconds, not negative`,
		"errors=yes":  `errors "yes": must be 0 or 1`,
		"sort=best":   `sort "best": must be newest or worst`,
	} {
		if got := errorOf(t, ask(t, h, "GET", "/api/v1/sessions?"+query, ""), 400); got != want {
			t.Errorf("%s: error %q, want %q", query, got, want)
		}
	}
}

func TestSession(t *testing.T) {
	h := testHandler(t, nil)
	a := ask(t, h, "GET", "/api/v1/sessions/"+testID(3).String(), "")
	got := decode[sessionJSON](t, a, 200)
	checkEqual(t, "spans", len(got.Spans), 2)
	s := got.Spans[1]
	checkEqual(t, "parent, depth, start, duration, self, delay", []int64{int64(s.Parent), int64(s.Depth), s.StartNs, s.DurationNs, s.SelfNs, s.DelayNs},
		[]int64{0, 1, 500_000, 3_000_000, 3_000_000, 1000})
	checkEqual(t, "status", []string{s.Status, s.StatusText, s.Kind, s.Scope}, []string{"Error", "no stock", "client", "sql"})
	checkEqual(t, "late", s.Late, true)
	checkEqual(t, "attributes", s.Attributes, []attributeJSON{
		{"db.query.text", "STRING", "SELECT <b>"},
		{"big", "INT64", "1152921504606846976"},
		{"hit", "BOOL", true},
		{"parts", "FLOAT64SLICE", []any{0.5, 1.0}},
	})
	checkEqual(t, "event", []any{s.Events[0].Name, s.Events[0].TimeNs}, []any{"exception", 2_000_000})
	checkEqual(t, "link", s.Links[0].SpanID, "0000000000000002")
	if strings.Contains(a.body, "<b>") {
		t.Error("markup in the JSON is not escaped")
	}
	for _, want := range []string{`"events":[]`, `"links":[]`, `"start":"2026-03-01T12:00:03Z"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not in %s", want, a.body)
		}
	}
	errorOf(t, ask(t, h, "GET", "/api/v1/sessions/"+testID(9999).String(), ""), 404)
	for _, bad := range []string{"xyz", strings.Repeat("0", 32)} {
		errorOf(t, ask(t, h, "GET", "/api/v1/sessions/"+bad, ""), 400)
	}
}

func TestAttributeValues(t *testing.T) {
	got := attributesJSON([]attribute.KeyValue{
		attribute.Float64("nan", math.NaN()), attribute.Float64("inf", math.Inf(-1)), attribute.Float64("half", 0.5),
		attribute.Int64("least", math.MinInt64), attribute.Int64Slice("ints", []int64{1, 1 << 60}),
		attribute.StringSlice("texts", []string{"a"}), attribute.BoolSlice("bools", []bool{true}),
		{Key: "empty"},
	})
	var values []any
	for _, a := range got {
		values = append(values, a.Value)
	}
	checkEqual(t, "values", values, []any{"NaN", "-Inf", 0.5, "-9223372036854775808", []any{1, "1152921504606846976"}, []string{"a"}, []bool{true}, ""})
}

func TestHealthAndUnknown(t *testing.T) {
	h := testHandler(t, nil)
	if a := ask(t, h, "GET", "/healthz", ""); a.code != 200 || a.body != "{\"status\":\"ok\"}\n" {
		t.Errorf("healthz: %d %s", a.code, a.body)
	}
	if a := ask(t, h, "HEAD", "/api/v1/regions", ""); a.code != 200 {
		t.Errorf("HEAD: %d", a.code)
	}
	for _, path := range []string{"/api/v1/nothing", "/api/v1/sessions/a/b", "/x", "//x", "/a/../b", "/assets/", "/assets/index.html", "/assets/..%2fviewer.go"} {
		errorOf(t, ask(t, h, "GET", path, ""), 404)
	}
	for _, c := range [][3]string{
		{"POST", "/api/v1/sessions", "GET"}, {"DELETE", "/", "GET"}, {"PATCH", "/api/v1/causal/plan", "GET, PUT, DELETE"},
	} {
		a := ask(t, h, c[0], c[1], "")
		errorOf(t, a, 405)
		checkEqual(t, "Allow", a.header.Get("Allow"), c[2])
	}
}
