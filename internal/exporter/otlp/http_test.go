package otlp

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/testutil"
)

// exportOne exports one item of each signal as the environment says, and returns what became of it.
func exportOne(t *testing.T, endpoint string, l *testutil.Log) map[string]delivery.Stats {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	p := newProfiles(t, endpoint, ProtocolHTTPProtobuf, l)
	_ = p.Export(t.Context(), testProfile())
	tp, b := newTraces(t, l)
	span(tp, "a")
	_ = tp.Shutdown(within(t, 10*time.Second))
	mp, m := newMetrics(t, l)
	add(t, mp)
	_ = mp.Shutdown(within(t, 10*time.Second))
	lp, r := newLogs(t, l)
	emit(lp, "started")
	_ = lp.Shutdown(within(t, 10*time.Second))
	return map[string]delivery.Stats{"profiles": p.Stats(), "traces": b.Stats(), "metrics": m.Stats(), "logs": r.Stats()}
}

func answering(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// The headers may have a key, which is for the endpoint alone.
func TestRedirectsAreFailures(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
	for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			var reached atomic.Bool
			other := answering(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
			var l testutil.Log
			for signal, s := range exportOne(t, answering(t, http.RedirectHandler(other+"/login?secret", status).ServeHTTP), &l) {
				if s.Exported > 0 || s.Failed == 0 || !strings.Contains(s.Outage, http.StatusText(status)+" to "+other+":") || strings.Contains(s.Outage, "secret") {
					t.Errorf("%s: %+v, want a failed export, and where the redirect leads", signal, s)
				}
			}
			if reached.Load() {
				t.Error("a redirect was followed")
			}
			if !strings.Contains(l.String(), "not delivered") {
				t.Errorf("said %q, want that nothing is delivered", l.String())
			}
		})
	}
}

// A page in place of an answer is not a delivery.
func TestAnswersOfOTLP(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		ok         bool
	}{
		"page":               {200, "text/html; charset=utf-8", "<html>please log in</html>", false},
		"text":               {200, "text/plain", "OK", false},
		"JSON":               {200, "application/json", "{}", false},
		"no type":            {202, "", "OK", false},
		"binary":             {200, "application/octet-stream", "\x00", false},
		"page of type OTLP":  {200, protobufType, "<html>please log in</html>", false},
		"empty":              {200, "", "", true},
		"empty page":         {200, "text/html", "", true},
		"no content":         {204, "", "", true},
		"protobuf":           {200, protobufType, "", true},
		"partial success":    {200, protobufType, "\n\x02\x12\x00", true},
		"type with charset":  {200, protobufType + "; charset=utf-8", "\n\x02\x12\x00", true},
		"type in upper case": {200, strings.ToUpper(protobufType), "\n\x02\x12\x00", true},
	} {
		t.Run(name, func(t *testing.T) {
			var l testutil.Log
			endpoint := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tt.kind}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			for signal, s := range exportOne(t, endpoint, &l) {
				if tt.ok != (s.Exported > 0) || tt.ok == (s.Failed > 0) || tt.ok != (s.Outage == "") {
					t.Errorf("%s: %+v, want success %v", signal, s, tt.ok)
				}
			}
		})
	}
}

// An answer of the type of OTLP with a parameter has its partial success read.
func TestAnswerWithParameters(t *testing.T) {
	var l testutil.Log
	endpoint := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", protobufType+"; charset=utf-8")
		_, _ = w.Write([]byte("\n\x02\x08\x01")) // one item rejected
	})
	for signal, s := range exportOne(t, endpoint, &l) {
		if s.Rejected != 1 {
			t.Errorf("%s: %+v, want one item rejected", signal, s)
		}
	}
}

// certificateOf returns a file with the server's certificate.
func certificateOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// An endpoint of http:// goes without TLS over gRPC too, whatever certificates there are.
func TestPlainGRPCBesideCertificates(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certificateOf(t, server))
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", newReceiver(t).endpoint(ProtocolGRPC))
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(ProtocolGRPC))
	var l testutil.Log
	tp, b := newTraces(t, &l)
	span(tp, "a")
	mp, m := newMetrics(t, &l)
	add(t, mp)
	lp, r := newLogs(t, &l)
	emit(lp, "started")
	err := errors.Join(tp.Shutdown(within(t, 10*time.Second)), mp.Shutdown(within(t, 10*time.Second)), lp.Shutdown(within(t, 10*time.Second)))
	if spans, points, records := b.Stats(), m.Stats(), r.Stats(); err != nil || spans.Exported != 1 || points.Exported != 1 || records.Exported != 1 {
		t.Errorf("%v: %+v, %+v, %+v, want one item each exported", err, spans, points, records)
	}
}

// What FromEnv reports to be taken is what goes out, though the SDK's exporters read the variables
// by rules of their own.
func TestRequestsAreAsReported(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", answering(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = strings.Join([]string{r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"), r.Header.Get("X-Test")}, " ")
	}))
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "GZIP")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-test=yes,x-broken=a%0Ab")
	env, err := FromEnv()
	if err == nil || !strings.Contains(err.Error(), "PROTOCOL") || !strings.Contains(err.Error(), "HEADERS") {
		t.Errorf("FromEnv = %v, want the protocol and a header named", err)
	}
	var l testutil.Log
	exportBy(t, env, &l)
	const sent = protobufType + " gzip yes"
	want := map[string]string{"/v1/traces": sent, "/v1/metrics": sent, "/v1/logs": sent}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s\n%s", diff, l.String())
	}
}

// exportBy exports one item of each signal but profiles.
func exportBy(t *testing.T, env Env, l *testutil.Log) {
	t.Helper()
	spans, errSpans := NewSpanExporter(t.Context(), env.Traces, l.Logger())
	metrics, errMetrics := NewMetricExporter(t.Context(), env.Metrics, l.Logger())
	logs, errLogs := NewLogExporter(t.Context(), env.Logs, l.Logger())
	if err := errors.Join(errSpans, errMetrics, errLogs); err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	span(tp, "a")
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	add(t, mp)
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	emit(lp, "started")
	if err := errors.Join(tp.Shutdown(within(t, 10*time.Second)), mp.Shutdown(within(t, 10*time.Second)), lp.Shutdown(within(t, 10*time.Second))); err != nil {
		t.Error(err)
	}
}

// The same over gRPC, where one bad header would have each export fail.
func TestGRPCIsAsReported(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.endpoint(ProtocolGRPC))
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(ProtocolGRPC))
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-test=yes,x-broken=a%0Ab")
	env, err := FromEnv()
	for _, name := range []string{"COMPRESSION", "TIMEOUT", "HEADERS"} {
		if strings.Count(fmt.Sprint(err), name) != 1 {
			t.Errorf("FromEnv = %v, want %s named once", err, name)
		}
	}
	var l testutil.Log
	exportBy(t, env, &l)
	if diff := cmp.Diff([]string{"a", "visits", "started"}, slices.Concat(r.spanNames(), r.metricNames(), r.logBodies())); diff != "" || r.headers["grpc"] != "yes" {
		t.Errorf("header x-test = %q, received (-want +got):\n%s\n%s", r.headers["grpc"], diff, l.String())
	}
}

// The query of an endpoint goes with each request, and is in no message.
func TestQueryOfEndpoint(t *testing.T) {
	const query = "key=secret&tenant=shop"
	var l testutil.Log
	endpoint := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != query {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	for signal, s := range exportOne(t, endpoint+"/?"+query, &l) {
		if s.Exported == 0 || strings.Contains(s.Name, "secret") {
			t.Errorf("%s: %+v, want success, and a name without the query", signal, s)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
	for signal, s := range exportOne(t, closedPort(t)+"/?"+query, &l) {
		if s.Exported > 0 || strings.Contains(s.Outage, "secret") {
			t.Errorf("%s: %+v, want a failure without the query", signal, s)
		}
	}
	if strings.Contains(l.String(), "secret") {
		t.Errorf("said the query: %s", l.String())
	}
}

// The name and the password of an endpoint go with each request, unless there is a header for them.
func TestPasswordOfEndpoint(t *testing.T) {
	for want, headers := range map[string]string{
		"Basic YW5uOnAgdw==": "", // ann, p w
		"Bearer token":       "authorization=Bearer%20token",
	} {
		t.Run(want, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
			endpoint := answering(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != want {
					w.WriteHeader(http.StatusUnauthorized)
				}
			})
			var l testutil.Log
			for signal, s := range exportOne(t, strings.Replace(endpoint, "http://", "http://ann:p%20w@", 1), &l) {
				if s.Exported == 0 {
					t.Errorf("%s: %+v, want success", signal, s)
				}
			}
		})
	}
}

// The client has what the variables say of certificates and time.
func TestClientFromEnv(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Slow") != "" {
			<-hang
		}
	}))
	defer server.Close()
	defer close(hang)
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certificateOf(t, server))
	var l testutil.Log
	for signal, s := range exportOne(t, server.URL, &l) {
		if s.Exported == 0 {
			t.Errorf("%s: %+v, want success", signal, s)
		}
	}
	for signal, s := range exportOne(t, answering(t, func(http.ResponseWriter, *http.Request) {}), &l) {
		if s.Exported == 0 {
			t.Errorf("%s: %+v, want success by http://, too, which takes no certificate", signal, s)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "50")
	way, _ := transportFromEnv(traces, server.URL)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Slow", "1")
	if response, err := newHTTPClient(way).Do(request); !os.IsTimeout(err) {
		_ = response.Body.Close()
		t.Errorf("Do = %v, want a timeout", err)
	}
}

// A program may have changed the default transport, as otelhttp's users do, who must not trace
// exports.
func TestClientIsItsOwn(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = refusing{}
	var l testutil.Log
	for signal, s := range exportOne(t, answering(t, func(http.ResponseWriter, *http.Request) {}), &l) {
		if s.Exported == 0 {
			t.Errorf("%s: %+v, want success", signal, s)
		}
	}
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, context.Canceled }
