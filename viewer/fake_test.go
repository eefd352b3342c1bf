package viewer

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/otelhdr"
	"github.com/otelprof/otelprof/spans"
)

const testToken = "a token of the tests"

var testStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fakeStore selects and orders as the interface says.
type fakeStore []*spans.SessionRecord

func (s fakeStore) Append(*spans.SessionRecord) error { return nil }

func (s fakeStore) Session(id spans.SessionID) (*spans.SessionRecord, bool) {
	i := slices.IndexFunc(s, func(r *spans.SessionRecord) bool { return r.ID == id })
	if i < 0 {
		return nil, false
	}
	return s[i], true
}

func (s fakeStore) Sessions(q spans.Query) []*spans.SessionRecord {
	var out []*spans.SessionRecord
	for _, r := range s {
		if (q.Name == "" || q.Name == r.Name) && r.Duration >= q.MinDuration && (!q.ErrorsOnly || r.Errors > 0) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b *spans.SessionRecord) int {
		if q.Worst {
			return cmp.Compare(b.Duration, a.Duration)
		}
		return b.Start.Compare(a.Start)
	})
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

func testID(i int) (id spans.SessionID) {
	binary.BigEndian.PutUint64(id[8:], uint64(i+1))
	return id
}

// testSession takes i+1 ms; every tenth one failed.
func testSession(i int) *spans.SessionRecord {
	ms := time.Duration(i+1) * time.Millisecond
	s := &spans.SessionRecord{
		ID: testID(i), Origin: testID(i), Name: []string{"POST /checkout", "GET /cart"}[i%2],
		TraceID: trace.TraceID{15: byte(i)}, Start: testStart.Add(time.Duration(i) * time.Second), Duration: ms,
		Attributes: []attribute.KeyValue{attribute.String("tenant", "t1")},
		Spans: []spans.SpanRecord{
			{Name: "root", Kind: trace.SpanKindServer, Parent: -1, Duration: ms, SelfTime: ms / 4, Sampled: true},
			{
				Name: "SELECT stock", Kind: trace.SpanKindClient, Scope: instrumentation.Scope{Name: "sql", Version: "1"},
				Parent: 0, Depth: 1, Start: ms / 8, Duration: ms * 3 / 4, SelfTime: ms * 3 / 4, Delay: time.Microsecond,
				Late: true, Sampled: true, SpanID: trace.SpanID{7: 9},
				Attributes: []attribute.KeyValue{
					attribute.String("db.query.text", "SELECT <b>"), attribute.Int64("big", 1<<60), attribute.Bool("hit", true),
					attribute.Float64Slice("parts", []float64{0.5, 1}),
				},
				Events: []spans.EventRecord{{Name: "exception", Time: ms / 2, Attributes: []attribute.KeyValue{attribute.String("exception.type", "E")}}},
				Links:  []spans.LinkRecord{{TraceID: trace.TraceID{15: 1}, SpanID: trace.SpanID{7: 2}}},
			},
		},
	}
	if i%10 == 3 {
		s.Errors = 1
		s.Spans[1].Status, s.Spans[1].StatusText = codes.Error, "no stock"
	}
	return s
}

func testSessions(n int) fakeStore {
	var s fakeStore
	for i := range n {
		s = append(s, testSession(i))
	}
	return s
}

// testRegions have 1000 durations each, 1 to 1000 times scale.
func testRegions(t *testing.T) []spans.RegionStats {
	t.Helper()
	region := func(name string, kind trace.SpanKind, scale uint64, self time.Duration) spans.RegionStats {
		h, err := otelhdr.NewHistogram()
		if err != nil {
			t.Fatal(err)
		}
		var total time.Duration
		for i := range uint64(1000) {
			h.Record((i + 1) * scale)
			total += time.Duration((i + 1) * scale)
		}
		return spans.RegionStats{
			Scope: instrumentation.Scope{Name: "shop", Version: "2"}, Name: name, Kind: kind,
			Count: 1000, Errors: 10, Total: total, Self: self, Durations: h.Snapshot(nil),
		}
	}
	return []spans.RegionStats{
		region("b", trace.SpanKindInternal, 1000, time.Second),
		region("GET /items/{id}", trace.SpanKindServer, 1000, 2*time.Second),
		region("a", trace.SpanKindClient, 1000, time.Second),
		{Name: "none yet"},
	}
}

// fakeExperiments records its calls.
type fakeExperiments struct {
	mu       sync.Mutex
	status   causal.Status
	profile  profile.Profile
	timeline causal.Timeline
	applied  []string
	rejected []string
	stopped  []string
	recorded []time.Duration
	refuse   error
}

func (f *fakeExperiments) Record(_ context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorded = append(f.recorded, d)
	if f.refuse == nil {
		f.status.Recording.Recordings++
	}
	return f.refuse
}

func (f *fakeExperiments) RecordTrace(_ context.Context, d time.Duration, samples bool) (*causal.Trace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorded = append(f.recorded, d)
	text := fmt.Sprintf("a trace of %v, samples %v", d, samples)
	out := &causal.Trace{Reader: strings.NewReader(text), Bytes: len(text)}
	out.Machine.CPU = d
	return out, f.refuse
}

func (f *fakeExperiments) Status() causal.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fakeExperiments) Profile() profile.Profile { return f.profile }

func (f *fakeExperiments) ApplyFrom(s causal.Source, p *plan.Plan) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = append(f.applied, s.Name+": "+p.ID)
	if f.refuse == nil {
		f.status.Plan, f.status.State = p, causal.StateRunning
	}
	return f.refuse
}

func (f *fakeExperiments) Reject(s causal.Source, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rejected = append(f.rejected, s.Name+": "+err.Error())
}

func (f *fakeExperiments) StopPlan(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = append(f.stopped, reason)
	f.status.State = causal.StateStopped
}

// testHandler serves 300 sessions, for the host "viewer.test".
func testHandler(t *testing.T, e experiments, opts ...Option) *Handler {
	t.Helper()
	regions := testRegions(t)
	h, err := NewHandler(Sources{
		Regions: func() []spans.RegionStats { return regions },
		Dropped: func() spans.Dropped { return spans.Dropped{QueueFull: 3} },
		Store:   testSessions(300),
		Service: "shop",
	}, append([]Option{WithHosts("viewer.test")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	if h.causal = e; e != nil {
		if err := h.renderPage(); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// answer is a handler's answer.
type answer struct {
	code   int
	header http.Header
	body   string
}

// ask sends a request to viewer.test; more changes it.
func ask(t *testing.T, h http.Handler, method, target, body string, more ...func(*http.Request)) answer {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "viewer.test"
	for _, f := range more {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{w.Code, w.Header(), string(got)}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// decode reads a JSON answer with the wanted status.
func decode[T any](t *testing.T, a answer, code int) (v T) {
	t.Helper()
	if a.code != code {
		t.Fatalf("status %d, want %d: %s", a.code, code, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

func errorOf(t *testing.T, a answer, code int) string {
	t.Helper()
	return decode[struct{ Error string }](t, a, code).Error
}

func checkEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		t.Errorf("%s = %s, want %s", what, g, w)
	}
}
