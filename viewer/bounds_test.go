package viewer

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
)

// TestShutdownEndsRequestsThatWait wants that a request which only waits keeps no Shutdown waiting.
func TestShutdownEndsRequestsThatWait(t *testing.T) {
	begun := make(chan struct{})
	s, err := NewServer("localhost:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.Get(s.URL()); err == nil {
			resp.Body.Close()
		}
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown = %v, want nil: the request's context has to end", err)
	}
	<-done
}

// TestRegionsOfTwoSchemas asks for the second of two regions that differ in the schema URL alone.
func TestRegionsOfTwoSchemas(t *testing.T) {
	of := func(schema string, count uint64) spans.RegionStats {
		return spans.RegionStats{Scope: instrumentation.Scope{Name: "shop", SchemaURL: schema}, Name: "a", Count: count}
	}
	h := testHandler(t, nil)
	h.regions = func() []spans.RegionStats {
		return []spans.RegionStats{of("https://example.test/1", 1), of("https://example.test/2", 2)}
	}
	got := decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/regions", ""), 200).Regions
	if len(got) != 2 || got[0].SchemaURL == got[1].SchemaURL {
		t.Fatalf("regions %+v, want two with other schema URLs", got)
	}
	for _, r := range got {
		path := "/api/v1/regions/distribution?name=a&scope=shop&scope_version=&scope_schema_url=" + r.SchemaURL
		checkEqual(t, path, decode[distributionJSON](t, ask(t, h, "GET", path, ""), 200).Count, r.Count)
	}
}

// TestRegionsHaveTheirBeginning wants a page to see that the process is another one.
func TestRegionsHaveTheirBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since := func(h *Handler) time.Time {
			return decode[regionsJSON](t, ask(t, h, "GET", "/api/v1/regions", ""), 200).Since
		}
		h := testHandler(t, nil)
		first := since(h)
		time.Sleep(time.Second)
		if again := since(h); first.IsZero() || !again.Equal(first) {
			t.Errorf("since %v, and then %v, want the same", first, again)
		}
		if other := since(testHandler(t, nil)); !other.After(first) {
			t.Errorf("since %v of another handler, want later than %v", other, first)
		}
	})
}

// lookingWriter looks, while it is written to, at whether others have to wait.
type lookingWriter struct {
	deadlineWriter
	h     *Handler
	alone bool
}

func (w *lookingWriter) Write(b []byte) (int, error) {
	w.alone = len(w.h.detailed) == 1
	return w.deadlineWriter.Write(b)
}

// TestDetailedAnswersComeOneAtATime wants that one answer with all distributions is in memory, and
// not for longer than its deadline.
func TestDetailedAnswersComeOneAtATime(t *testing.T) {
	h := testHandler(t, nil)
	h.runs = []Run{{Name: "a"}}
	for path, alone := range map[string]bool{
		"/api/v1/regions": false, "/api/v1/regions?buckets=1": true, "/api/v1/regions?buckets=coarse": true,
		"/api/v1/runs/0/regions": false, "/api/v1/runs/0/regions?buckets=1": true,
	} {
		w := &lookingWriter{deadlineWriter: deadlineWriter{ResponseRecorder: httptest.NewRecorder()}, h: h}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "viewer.test"
		h.ServeHTTP(w, r)
		if left := time.Until(w.deadline); w.Code != 200 || w.alone != alone || (left > 0) != alone || left > detailDeadline {
			t.Errorf("%s: %d, alone %v, deadline in %v; want %v, and then within %v", path, w.Code, w.alone, left, alone, detailDeadline)
		}
		if len(h.detailed) != 0 {
			t.Fatalf("%s: others wait after the answer", path)
		}
	}
}

// TestDetailedAnswersDoNotWaitForever holds one whose reader no deadline ends.
func TestDetailedAnswersDoNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHandler(t, nil)
		h.detailed <- struct{}{}
		began := time.Now()
		errorOf(t, ask(t, h, "GET", "/api/v1/regions?buckets=1", ""), 503)
		checkEqual(t, "waited", time.Since(began), detailDeadline)
		checkEqual(t, "without buckets", ask(t, h, "GET", "/api/v1/regions", "").code, 200)
		time.AfterFunc(time.Second, func() { <-h.detailed })
		checkEqual(t, "after the other", ask(t, h, "GET", "/api/v1/regions?buckets=1", "").code, 200)
	})
}

// TestRecordingMayWaitForAnother wants a deadline of its own for what may take two recordings.
func TestRecordingMayWaitForAnother(t *testing.T) {
	for _, refuse := range []error{nil, causal.ErrRecording} {
		h := testHandler(t, &fakeExperiments{refuse: refuse}, WithToken(testToken))
		w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/causal/record", nil)
		bearer(testToken)(r)
		h.recordNow(w, r)
		if left := time.Until(w.deadline); left <= 0 || left > traceDeadline {
			t.Errorf("%d, deadline in %v; want one within %v", w.Code, left, traceDeadline)
		}
	}
}

// TestCanceledRequestsFail wants no empty answer of status 200 while the server shuts down.
func TestCanceledRequestsFail(t *testing.T) {
	h := testHandler(t, &fakeExperiments{refuse: context.Canceled}, WithToken(testToken))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := ask(t, h, "POST", "/api/v1/causal/record", "", bearer(testToken), func(r *http.Request) { *r = *r.WithContext(ctx) })
	if text := errorOf(t, got, 503); !strings.Contains(text, "canceled") {
		t.Error(text)
	}
}

// slowSchedule takes a second for a snapshot.
type slowSchedule struct{ fakeSchedule }

func (f *slowSchedule) Snapshot(ctx context.Context) (*schedule.Report, error) {
	time.Sleep(time.Second)
	return f.fakeSchedule.Snapshot(ctx)
}

// TestSlowReportsStandForLonger wants a snapshot to take a tenth of the time at most.
func TestSlowReportsStandForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := testHandler(t, nil)
		f := &slowSchedule{}
		h.schedule = f
		for range 44 {
			decode[scheduleJSON](t, ask(t, h, "GET", "/api/v1/regions/schedule?name=b", ""), 200)
			time.Sleep(time.Second)
		}
		if f.taken != 4 && f.taken != 5 {
			t.Errorf("%d snapshots of 1 s in 48 s, want 4 or 5", f.taken)
		}
	})
}

// TestSpansThatShareAnID wants a form of OTLP in which each span has its own ID: spans without one
// have their caller's.
func TestSpansThatShareAnID(t *testing.T) {
	s := testSession(0)
	shared := trace.SpanID{7: 9}
	for i := range s.Spans {
		s.Spans[i].SpanID = shared
	}
	s.Spans = append(s.Spans, spans.SpanRecord{Name: "below", Parent: 1, SpanID: shared})
	byName := map[string]string{}
	parents := map[string]string{}
	for _, rs := range tracesOf(s, "").ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, span := range ss.Spans {
				byName[span.Name], parents[span.Name] = span.SpanID.String(), span.ParentSpanID.String()
			}
		}
	}
	ids := map[string]bool{}
	for _, id := range byName {
		ids[id] = true
	}
	if len(ids) != 3 {
		t.Errorf("span IDs %v, want three", byName)
	}
	checkEqual(t, "parent of the second", parents["SELECT stock"], byName["root"])
	checkEqual(t, "parent of the third", parents["below"], byName["SELECT stock"])
}

// TestSearchSaysThatItWasCutShort wants no "nothing matches" for what was not looked at.
func TestSearchSaysThatItWasCutShort(t *testing.T) {
	many := make([]spans.SpanRecord, maxScanSpans)
	h := testHandler(t, nil)
	h.store = fakeStore{
		{ID: testID(1), Origin: testID(1), Name: "GET /big", Start: testStart.Add(time.Second), Spans: many},
		{ID: testID(2), Origin: testID(2), Name: "GET /items", Start: testStart, Spans: []spans.SpanRecord{{Name: "SELECT"}}},
	}
	got := decode[sessionsJSON](t, ask(t, h, "GET", "/api/v1/sessions?name=SELECT", ""), 200)
	if len(got.Sessions) != 0 || !got.More {
		t.Errorf("%d sessions, more %v; want none, and that more may match", len(got.Sessions), got.More)
	}
	h.store = h.store.(fakeStore)[1:]
	got = decode[sessionsJSON](t, ask(t, h, "GET", "/api/v1/sessions?name=SELECT", ""), 200)
	if len(got.Sessions) != 1 || got.More {
		t.Errorf("%d sessions, more %v; want one and no more", len(got.Sessions), got.More)
	}
}

func TestSessionsOfAWholeName(t *testing.T) {
	h := testHandler(t, nil)
	h.store = fakeStore{
		{ID: testID(1), Origin: testID(1), Name: "GET /items", Start: testStart, Spans: []spans.SpanRecord{{Name: "GET /items"}, {Name: "items"}}},
		{ID: testID(2), Origin: testID(2), Name: "GET /items/{id}", Start: testStart, Spans: []spans.SpanRecord{{Name: "GET /items/{id}"}}},
	}
	for query, want := range map[string]int{"name=GET+/items": 2, "name=GET+/items&whole=1": 1, "name=items&whole=1": 1, "name=ite&whole=1": 0, "whole=1": 2, "name=ite&whole=0": 2} {
		checkEqual(t, query, len(decode[sessionsJSON](t, ask(t, h, "GET", "/api/v1/sessions?"+query, ""), 200).Sessions), want)
	}
	errorOf(t, ask(t, h, "GET", "/api/v1/sessions?whole=x", ""), 400)
}
