package spans_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/otelprof/otelprof/spans"
)

const member = "otelprof.session"

// withBaggage returns a context that has the baggage of a header.
func withBaggage(ctx context.Context, t *testing.T, header string) context.Context {
	t.Helper()
	b, err := baggage.Parse(header)
	if err != nil {
		t.Fatal(err)
	}
	return baggage.ContextWithBaggage(ctx, b)
}

func TestOriginOfACaller(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		name    string
		header  string
		trusted bool
		want    bool // the caller's is taken
	}{
		{"ignored by default", member + "=" + id, false, false},
		{"trusted", member + "=" + id, true, true},
		{"none", "other=1", true, false},
		{"too short", member + "=0123", true, false},
		{"zero", member + "=" + strings.Repeat("0", 32), true, false},
		{"no digits", member + "=" + strings.Repeat("x", 32), true, false},
		{"too long", member + "=" + id + "00", true, false},
	} {
		var opts []spans.Option
		if c.trusted {
			opts = append(opts, spans.WithTrustedSessions())
		}
		tp := wrapSDK(t, opts...)
		_, root := tp.Tracer("").Start(remote(withBaggage(t.Context(), t, c.header), 1), "root")
		root.End()
		rec := storedOne(t, tp)
		if got := rec.Origin.String() == id; got != c.want {
			t.Errorf("%s: origin %v", c.name, rec.Origin)
		}
		if !c.want && rec.Origin != rec.ID {
			t.Errorf("%s: origin %v, want the session's own %v", c.name, rec.Origin, rec.ID)
		}
		if rec.ID.String() == id {
			t.Errorf("%s: the session took the caller's ID as its own", c.name)
		}
	}
}

// injecting is a transport that sends trace context and baggage along, as instrumentation does.
type injecting struct{ base http.RoundTripper }

func (i injecting) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	propagation.Baggage{}.Inject(req.Context(), propagation.HeaderCarrier(req.Header))
	return i.base.RoundTrip(req)
}

// bareContext is not comparable: comparing it panics.
type bareContext struct {
	context.Context
	_ []int
}

func TestTransportTellsOnlyAllowedHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := propagation.Baggage{}.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
		b := baggage.FromContext(ctx)
		_ = json.NewEncoder(w).Encode([]string{b.Member(member).Value(), b.Member("other").Value()})
	}))
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	call := func(ctx context.Context, hosts ...string) (session, other string) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := spans.NewTransport(injecting{base}, hosts...).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got []string
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got[0], got[1]
	}

	tp := wrapSDK(t)
	ctx, root := tp.Tracer("").Start(withBaggage(t.Context(), t, member+"=fromfar,other=kept"), "root")
	defer root.End()
	id := spans.SessionFromContext(ctx).ID().String()
	for _, c := range []struct {
		name  string
		ctx   context.Context
		hosts []string
		want  string
	}{
		{"no host is allowed", ctx, nil, ""},
		{"another host is allowed", ctx, []string{"example.com", "example.com:" + at.Port()}, ""},
		{"another port is allowed", ctx, []string{at.Hostname() + ":1"}, ""},
		{"host and port are allowed", ctx, []string{at.Host}, id},
		{"the host is allowed", ctx, []string{"example.com", at.Hostname()}, id},
		{"context that cannot be compared, allowed", bareContext{Context: ctx}, []string{at.Host}, id},
		{"context that cannot be compared, not allowed", bareContext{Context: ctx}, nil, ""},
	} {
		session, other := call(c.ctx, c.hosts...)
		if session != c.want || other != "kept" {
			t.Errorf("%s: the server got session %q and other %q, want %q and kept", c.name, session, other, c.want)
		}
	}
	if session, other := call(t.Context(), at.Host); session != "" || other != "" {
		t.Errorf("without a session the server got %q, %q", session, other)
	}
	bare := withBaggage(t.Context(), t, member+"=fromfar,other=kept")
	if session, other := call(bare, at.Host); session != "" || other != "kept" {
		t.Errorf("without a session the server got the caller's %q, and other %q", session, other)
	}
	if got := baggage.FromContext(ctx).Member(member).Value(); got != "fromfar" {
		t.Errorf("the caller's own context has changed to %q", got)
	}
}

func TestOriginTravelsOverTwoServices(t *testing.T) {
	back := wrapSDK(t, spans.WithTrustedSessions())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		ctx := propagation.Baggage{}.Extract(req.Context(), propagation.HeaderCarrier(req.Header))
		_, s := back.Tracer("").Start(ctx, "back")
		s.End()
	}))
	defer server.Close()
	front := wrapSDK(t)
	ctx, root := front.Tracer("").Start(t.Context(), "front")
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	client := &http.Client{Transport: spans.NewTransport(injecting{base}, strings.TrimPrefix(server.URL, "http://"))}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	root.End()
	f, b := storedOne(t, front), storedOne(t, back)
	if b.Origin != f.ID || b.ID == f.ID {
		t.Errorf("session %v of origin %v, want another one of origin %v", b.ID, b.Origin, f.ID)
	}
}

func TestContextWithSessionBaggage(t *testing.T) {
	if ctx := spans.ContextWithSessionBaggage(t.Context()); ctx != t.Context() {
		t.Error("a context without a session has changed")
	}
	ctx, session := spans.StartSession(t.Context(), "s")
	ctx = withBaggage(ctx, t, "a=1;p=2,"+member+"=old")
	b := baggage.FromContext(spans.ContextWithSessionBaggage(ctx))
	if got := b.Member(member).Value(); got != session.ID().String() || b.Len() != 2 || b.Member("a").Value() != "1" {
		t.Errorf("baggage %v, want a and the session %v", b, session.ID())
	}
	var full []string
	for i := range 64 {
		full = append(full, string(rune('a'+i%26))+strings.Repeat("x", 1+i/26)+"=1")
	}
	ctx = withBaggage(ctx, t, strings.Join(full, ","))
	got := baggage.FromContext(spans.ContextWithSessionBaggage(ctx))
	if got.Len() != 64 || got.Member(member).Key() != "" {
		t.Errorf("a full baggage has %d members and session %q, want it as it was", got.Len(), got.Member(member).Value())
	}
	ctx = withBaggage(ctx, t, "a="+strings.Repeat("x", 8150))
	if got := baggage.FromContext(spans.ContextWithSessionBaggage(ctx)); got.Len() != 1 {
		t.Errorf("a long baggage has %d members, want it as it was", got.Len())
	}
	session.End()
}

func TestParseSessionID(t *testing.T) {
	for _, text := range []string{"", "0", "x", strings.Repeat("0", 32), strings.Repeat("1", 31), strings.Repeat("1", 33), strings.Repeat("g", 32), strings.Repeat("é", 16)} {
		id, err := spans.ParseSessionID(text)
		if !errors.Is(err, spans.ErrSessionID) || id.IsValid() {
			t.Errorf("ParseSessionID(%q) = %v, %v, want an error that wraps ErrSessionID", text, id, err)
		}
		if err := new(spans.SessionID).UnmarshalText([]byte(text)); !errors.Is(err, spans.ErrSessionID) {
			t.Errorf("UnmarshalText(%q) = %v, want an error that wraps ErrSessionID", text, err)
		}
	}
	type document struct {
		ID  spans.SessionID
		Map map[spans.SessionID]int
	}
	_, session := spans.StartSession(t.Context(), "s")
	in := document{session.ID(), map[spans.SessionID]int{session.ID(): 1}}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out document
	if err := json.Unmarshal(text, &out); err != nil || out.ID != in.ID || out.Map[in.ID] != 1 {
		t.Errorf("%s reads back as %+v, %v", text, out, err)
	}
}

func FuzzParseSessionID(f *testing.F) {
	f.Add("0123456789abcdef0123456789ABCDEF")
	f.Add(strings.Repeat("0", 32))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := spans.ParseSessionID(text)
		if err != nil {
			if !errors.Is(err, spans.ErrSessionID) || id.IsValid() {
				t.Errorf("ParseSessionID(%q) = %v, %v", text, id, err)
			}
			return
		}
		if id.String() != strings.ToLower(text) || !id.IsValid() {
			t.Errorf("ParseSessionID(%q) = %v", text, id)
		}
		marshalled, err := id.MarshalText()
		var again spans.SessionID
		if err != nil || again.UnmarshalText(marshalled) != nil || again != id {
			t.Errorf("%v does not come back from %q", id, marshalled)
		}
	})
}
