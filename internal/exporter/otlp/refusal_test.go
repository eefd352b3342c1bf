package otlp

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/internal/testutil"
)

// statusBody is what OTLP has a server answer beside a status of HTTP.
func statusBody(t *testing.T, message string) []byte {
	t.Helper()
	body, err := proto.Marshal(status.New(codes.InvalidArgument, message).Proto())
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// The text of a refusal is readable with any body of the answer.
func TestRefusalIsReadable(t *testing.T) {
	for name, tt := range map[string]struct {
		body []byte
		want string
	}{
		"status":         {statusBody(t, "attribute too long"), "body: attribute too long"},
		"trimmed status": {statusBody(t, "attribute too long \n"), "body: attribute too long"},
		"no message":     {statusBody(t, ""), "body: 2 bytes that are not text"},
		"text":           {[]byte("no such\n\tpath\n"), "body: no such path"},
		"JSON":           {[]byte(`{"code":3,"message":"too long"}`), `body: {"code":3,"message":"too long"}`},
		"long page":      {[]byte(strings.Repeat("<p>", 5000)), strings.Repeat("<p>", 85) + "< …"},
		"not text":       {append([]byte{0xff, 0, 7}, make([]byte, 997)...), "body: 1000 bytes that are not text"},
		"nothing":        {nil, "body: (empty)"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", protobufType)
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write(tt.body)
			}))
			defer server.Close()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
			var l testutil.Log
			tp, b := newTraces(t, &l)
			mp, e := newMetrics(t, &l)
			lp, le := newLogs(t, &l)
			span(tp, "a")
			add(t, mp)
			emit(lp, "a")
			_ = tp.Shutdown(within(t, 10*time.Second))
			_ = mp.Shutdown(within(t, 10*time.Second))
			_ = lp.Shutdown(within(t, 10*time.Second))
			lines := l.Await(3)
			if len(lines) != 3 {
				t.Errorf("%d lines said, want one a signal", len(lines))
			}
			for _, line := range append(lines, b.Stats().Outage, e.Stats().Outage, le.Stats().Outage) {
				if plain := strings.ReplaceAll(line, `\"`, `"`); !strings.Contains(plain, "400 Bad Request") || !strings.Contains(plain, tt.want) || !isText(line) || len(line) > 600 {
					t.Errorf("said %q, want the status and %q", line, tt.want)
				}
			}
		})
	}
}

func TestExplainKeepsTheError(t *testing.T) {
	inner := errors.New("nobody there")
	if got := explain(inner); !errors.Is(got, inner) || got.Error() != inner.Error() {
		t.Errorf("explain(%v) = %v, want the same", inner, got)
	}
	err := fmt.Errorf("failed to send: 400 Bad Request (body: \x08\x03\x12\x03abc): %w", inner)
	if got := explain(err); !errors.Is(got, inner) || !isText(got.Error()) || cause(got) != cause(err) {
		t.Errorf("explain(%q) = %q, want it readable, and of the same cause", err, got)
	}
}

// No body makes reading it fail, nor the text of the refusal long.
func FuzzSaid(f *testing.F) {
	f.Add([]byte("text"))
	f.Add([]byte{8, 3, 0x12, 4, 'a', 'b'})
	f.Add([]byte{0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := said(string(body)); !isText(got) || len(got) > maxSaid+len(" …") {
			t.Errorf("said(%q) = %q", body, got)
		}
	})
}
