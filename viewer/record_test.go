package viewer

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/internal/naming"
)

func TestRecord(t *testing.T) {
	const path = "/api/v1/causal/record"
	e := &fakeExperiments{profile: testProfile()}
	h := testHandler(t, e, WithToken(testToken))
	own := header("Sec-Fetch-Site", "same-origin")
	for _, query := range []string{"", "?duration=500ms", "?duration=10s"} {
		got := decode[recordJSON](t, ask(t, h, "POST", path+query, "", own, bearer(testToken)), 200)
		checkEqual(t, "recordings", got.Recording.Recordings, len(e.recorded))
	}
	checkEqual(t, "recorded", e.recorded, []time.Duration{3 * time.Second, 500 * time.Millisecond, 10 * time.Second})

	for _, bad := range []string{"5", "1ms", "11s", "-1s", "x"} {
		if got := errorOf(t, ask(t, h, "POST", path+"?duration="+bad, "", own, bearer(testToken)), 400); !strings.Contains(got, "[100ms, 10s]") {
			t.Errorf("duration %s: %s", bad, got)
		}
	}
	e.refuse = fmt.Errorf("%w: %w", causal.ErrRecording, causal.ErrTraced)
	errorOf(t, ask(t, h, "POST", path, "", own, bearer(testToken)), 409)
	e.refuse = errors.New("something else")
	errorOf(t, ask(t, h, "POST", path, "", own, bearer(testToken)), 503)
	if got := ask(t, h, "GET", path, ""); got.code != 405 || got.header.Get("Allow") != "POST" {
		t.Errorf("GET = %d, Allow %q, want 405 and POST", got.code, got.header.Get("Allow"))
	}
}

// TestRecordIsGuarded checks that a recording takes what a plan does.
func TestRecordIsGuarded(t *testing.T) {
	own := header("Sec-Fetch-Site", "same-origin")
	for name, tt := range map[string]struct {
		opts []Option
		more []func(*http.Request)
		code int
	}{
		"no token was set": {nil, []func(*http.Request){own, bearer(testToken)}, 403},
		"no token is sent": {[]Option{WithToken(testToken)}, []func(*http.Request){own}, 401},
		"another token":    {[]Option{WithToken(testToken)}, []func(*http.Request){own, bearer(testToken + "s")}, 401},
		"another host":     {[]Option{WithToken(testToken)}, []func(*http.Request){own, bearer(testToken), host("evil.example")}, 403},
		"another origin":   {[]Option{WithToken(testToken)}, []func(*http.Request){bearer(testToken), header("Sec-Fetch-Site", "cross-site")}, 403},
	} {
		for _, path := range []string{"/api/v1/causal/record", "/api/v1/causal/trace"} {
			e := &fakeExperiments{}
			errorOf(t, ask(t, testHandler(t, e, tt.opts...), "POST", path, "", tt.more...), tt.code)
			if len(e.recorded) != 0 {
				t.Errorf("%s: recorded for %v, want nothing", name, e.recorded)
			}
		}
	}
}

func TestRecordOfSavedData(t *testing.T) {
	h := testHandler(t, savedExperiments{testProfile()}, WithToken(testToken))
	for _, path := range []string{"/api/v1/causal/record", "/api/v1/causal/trace"} {
		if got := errorOf(t, ask(t, h, "POST", path, "", bearer(testToken)), 409); !strings.Contains(got, "saved data") {
			t.Error(got)
		}
	}
}

func TestRecordTrace(t *testing.T) {
	const path = "/api/v1/causal/trace"
	e := &fakeExperiments{}
	h := testHandler(t, e, WithToken(testToken))
	for query, want := range map[string]string{
		"":                          "a trace of 3s, samples false",
		"?duration=200ms&samples=1": "a trace of 200ms, samples true",
	} {
		got := ask(t, h, "POST", path+query, "", bearer(testToken))
		checkEqual(t, "body", got.body, want)
		checkEqual(t, "length", got.header.Get("Content-Length"), fmt.Sprint(len(want)))
		if machine := got.header.Get(naming.HeaderMachine); !strings.Contains(machine, `00000,"others_ns":0`) {
			t.Errorf("%s: %q, want processor time", query, machine)
		}
	}
	errorOf(t, ask(t, h, "POST", path+"?duration=1h", "", bearer(testToken)), 400)
	checkEqual(t, "samples", errorOf(t, ask(t, h, "POST", path+"?samples=yes", "", bearer(testToken)), 400), `samples "yes": must be 0 or 1`)
	h.tracing.Lock()
	errorOf(t, ask(t, h, "POST", path, "", bearer(testToken)), 409)
	h.tracing.Unlock()
	e.refuse = fmt.Errorf("%w: %w", causal.ErrRecording, causal.ErrTraced)
	errorOf(t, ask(t, h, "POST", path, "", bearer(testToken)), 409)
}

// deadlineWriter has a deadline to write.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *deadlineWriter) SetWriteDeadline(t time.Time) error { w.deadline = t; return nil }

// TestTraceIsReadInTime wants a deadline where the server has none.
func TestTraceIsReadInTime(t *testing.T) {
	h := testHandler(t, &fakeExperiments{}, WithToken(testToken))
	w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/causal/trace", nil)
	bearer(testToken)(r)
	h.recordTrace(w, r)
	if left := time.Until(w.deadline); w.Code != 200 || left <= 0 || left > traceDeadline {
		t.Errorf("%d, deadline in %v; want one within %v", w.Code, left, traceDeadline)
	}
}
