package viewer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/spans"
)

// waitingExperiments know what the first session waited for.
type waitingExperiments struct {
	fakeExperiments
	waits causal.SessionWaits
}

func (w *waitingExperiments) SessionWaits(s *spans.SessionRecord) causal.SessionWaits {
	if s.ID == testID(0) {
		return w.waits
	}
	return causal.SessionWaits{}
}

// A session's spans have their waits, and lead to the session that ended each, where that is kept.
func TestSessionWaits(t *testing.T) {
	f := &waitingExperiments{waits: causal.SessionWaits{Recorded: 1, Waits: []causal.SpanWait{
		{Span: 1, Kind: "lock", Where: "main.take:7", At: time.Millisecond / 2, For: time.Millisecond / 4, By: profile.Region{Scope: "sql", Name: "SELECT stock"}, BySpan: trace.SpanID{7: 9}, ByTrace: trace.TraceID{15: 1}, ByWhere: "main.give:9"},
		{Span: 1, Kind: "lock", By: profile.Region{Name: "gone"}, BySpan: trace.SpanID{7: 8}},
		{Span: 1, Kind: "network"},
	}}}
	h := testHandler(t, nil)
	h.causal = f
	got := decode[sessionJSON](t, ask(t, h, "GET", "/api/v1/sessions/"+testID(0).String(), ""), 200)
	own := testID(0)
	want := []waitJSON{
		{Kind: "lock", Where: "main.take:7", AtNs: 500_000, ForNs: 250_000, By: "SELECT stock", ByScope: "sql", ByWhere: "main.give:9", BySession: &own, BySpan: "0000000000000009", ByTrace: "00000000000000000000000000000001"},
		{Kind: "lock", By: "gone", BySpan: "0000000000000008"},
		{Kind: "network"},
	}
	if diff := cmp.Diff(want, got.Spans[1].Waits); diff != "" || got.Recorded != 1 {
		t.Errorf("recorded %v, waits (-want +got):\n%s", got.Recorded, diff)
	}
	if other := decode[sessionJSON](t, ask(t, h, "GET", "/api/v1/sessions/"+testID(1).String(), ""), 200); other.Recorded != 0 || len(other.Spans[1].Waits) > 0 {
		t.Errorf("another session has waits: %+v", other)
	}
}

func TestRegionWaits(t *testing.T) {
	waits := profile.RegionWaits{Region: profile.Region{Scope: "shop", Name: "b"}, Spans: 3, Time: time.Second, Waits: []profile.Wait{{Kind: "lock", Count: 2, Total: time.Millisecond}}}
	tail := profile.Tail{Region: waits.Region, Requests: 100, Slowest: 5, Slow: time.Second, Examples: []string{"0000000000000003", "0000000000000004", "no id"}}
	f := &fakeExperiments{profile: profile.Profile{Waits: []profile.RegionWaits{waits}, Tails: []profile.Tail{tail}}}
	h := testHandler(t, f)
	kept := testSessions(2)
	kept[1].Spans[0].SpanID = trace.SpanID{7: 3}
	h.store = kept
	got := decode[regionWaitsJSON](t, ask(t, h, "GET", "/api/v1/regions/waits?name=b&scope=shop", ""), 200)
	if diff := cmp.Diff([]profile.RegionWaits{waits}, got.Regions); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]tailJSON{{tail, []spans.SessionID{testID(1)}}}, got.Tails); diff != "" {
		t.Errorf("tails (-want +got):\n%s", diff)
	}
	if got := decode[regionWaitsJSON](t, ask(t, h, "GET", "/api/v1/regions/waits?name=b&scope=other", ""), 200); len(got.Regions)+len(got.Tails) != 0 {
		t.Errorf("another scope has %v", got.Regions)
	}
	if p := decode[profile.Profile](t, ask(t, h, "GET", "/api/v1/causal/profile", ""), 200); len(p.Waits)+len(p.Tails) != 0 {
		t.Errorf("the profile that the page asks for every two seconds has %d regions' waits", len(p.Waits))
	}
	if p := decode[profile.Profile](t, ask(t, h, "GET", "/api/v1/causal/profile?samples=1", ""), 200); len(p.Waits) != 1 {
		t.Errorf("the whole profile has %d regions' waits, want 1", len(p.Waits))
	}
	ask404 := ask(t, testHandler(t, nil), "GET", "/api/v1/regions/waits?name=b", "")
	if ask404.code != 404 {
		t.Errorf("without a controller: %d", ask404.code)
	}
}
