package backends

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/viewer"
)

// TestOpenTrace follows the page's link from a session to Jaeger, which has that trace, with the
// same spans.
func TestOpenTrace(t *testing.T) {
	s := newStack(t, nil)
	a := newApp(t, "linked", s.exporting(), "",
		otelprof.WithViewer("127.0.0.1:0", viewer.WithTraceURL("http://"+s.jaeger.query+"/trace/{trace_id}")))
	a.work(t, 20)
	if err := a.TracerProvider().ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	api := a.ViewerURL() + "api/v1/sessions"
	var list struct {
		Sessions []struct{ ID string }
	}
	if err := getJSON(t.Context(), api, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 20 {
		t.Fatalf("%d sessions, want 20", len(list.Sessions))
	}
	for _, one := range list.Sessions {
		var session struct {
			TraceID  string `json:"trace_id"`
			TraceURL string `json:"trace_url"`
			Spans    []struct {
				Name   string
				SpanID string `json:"span_id"`
			}
		}
		if err := getJSON(t.Context(), api+"/"+one.ID, &session); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, span := range session.Spans {
			want = append(want, span.SpanID+" "+span.Name)
		}
		slices.Sort(want)
		if got := s.jaeger.opened(t, session.TraceURL, len(want)); !cmp.Equal(got, want) || len(want) != 3 {
			t.Errorf("session %s, %s (-want +got):\n%s", one.ID, session.TraceURL, cmp.Diff(want, got))
		}
	}
	check(t, "open_trace", "figure=%d of %d links from a session lead to its trace, with the same spans", len(list.Sessions), len(list.Sessions))
	a.shutdown(t)
}

// opened follows the address of a trace as the page of Jaeger does, which is a program of the
// browser: it is served at every such path, and asks the API for the ID at its end. It returns the
// ids and names of want spans, sorted.
func (j *jaeger) opened(t testing.TB, address string, want int) []string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Host != j.query || path.Dir(u.Path) != "/trace" {
		t.Fatalf("trace URL %q: must be http://%s/trace/ID", address, j.query)
	}
	var found []string
	eventually(t, 30*time.Second, func() error {
		if _, err := get(t.Context(), address); err != nil {
			return err
		}
		all, err := j.trace(t.Context(), path.Base(u.Path))
		if err != nil {
			return err
		}
		found = nil
		for _, s := range all {
			found = append(found, s.SpanID().String()+" "+s.Name())
		}
		if len(found) < want {
			return fmt.Errorf("%s: %d spans, want %d", address, len(found), want)
		}
		return nil
	})
	slices.Sort(found)
	return found
}
