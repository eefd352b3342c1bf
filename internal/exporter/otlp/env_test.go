package otlp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFromEnv(t *testing.T) {
	on := func(p Protocol, endpoint string) Pipeline {
		return Pipeline{Enabled: true, Protocol: p, Endpoint: endpoint}
	}
	const base = "http://c:4318"
	tests := map[string]struct {
		env  map[string]string
		want Env
	}{
		"nothing": {},
		"blank":   {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "  "}},
		"endpoint for all": {
			env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": base},
			want: Env{
				Traces:  on(ProtocolHTTPProtobuf, base+"/v1/traces"),
				Metrics: on(ProtocolHTTPProtobuf, base+"/v1/metrics"),
				Logs:    on(ProtocolHTTPProtobuf, base+"/v1/logs"),
			},
		},
		"endpoint with a path": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": base + "/in/", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none",
			},
			want: Env{Traces: on(ProtocolHTTPProtobuf, base+"/in/v1/traces")},
		},
		"endpoint of one signal is taken as it is": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": base + "/x"},
			want: Env{Traces: on(ProtocolHTTPProtobuf, base+"/x")},
		},
		"endpoint of one signal before that of all": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT":         base,
				"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "https://m/write",
			},
			want: Env{
				Traces:  on(ProtocolHTTPProtobuf, base+"/v1/traces"),
				Metrics: on(ProtocolHTTPProtobuf, "https://m/write"),
				Logs:    on(ProtocolHTTPProtobuf, base+"/v1/logs"),
			},
		},
		"protocol": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": base, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			want: Env{Traces: on(ProtocolGRPC, base), Metrics: on(ProtocolGRPC, base), Logs: on(ProtocolGRPC, base)},
		},
		"protocol of one signal": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": base, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
				"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
			},
			want: Env{
				Traces:  on(ProtocolGRPC, base),
				Metrics: on(ProtocolHTTPProtobuf, base+"/v1/metrics"),
				Logs:    on(ProtocolGRPC, base),
			},
		},
		"exporter without endpoint": {
			env:  map[string]string{"OTEL_TRACES_EXPORTER": "otlp"},
			want: Env{Traces: on(ProtocolHTTPProtobuf, "http://localhost:4318/v1/traces")},
		},
		"exporter without endpoint, grpc and TLS": {
			env: map[string]string{
				"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
				"OTEL_EXPORTER_OTLP_INSECURE": "false",
			},
			want: Env{Metrics: on(ProtocolGRPC, "https://localhost:4317")},
		},
		"none wins over an endpoint": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": base, "OTEL_TRACES_EXPORTER": "none",
				"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none",
			},
		},
		"what is off is not checked": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "nonsense", "OTEL_EXPORTER_OTLP_PROTOCOL": "smoke",
				"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none",
			},
		},
		"disabled": {
			env:  map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": base},
			want: Env{Disabled: true},
		},
		"only true disables": {
			env: map[string]string{"OTEL_SDK_DISABLED": "1"},
		},
		"password": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://u:secret@c/"},
			want: Env{Traces: on(ProtocolHTTPProtobuf, "https://u:xxxxx@c/")},
		},
		"unix socket": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "unix:///run/c.sock", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			want: Env{Traces: on(ProtocolGRPC, "unix:///run/c.sock")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			got, err := FromEnv()
			if err != nil {
				t.Fatalf("FromEnv: %v", err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Pipeline{})); diff != "" {
				t.Errorf("FromEnv (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromEnvErrors(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		want []string
	}{
		"protocol": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
			want: []string{"OTEL_EXPORTER_OTLP_PROTOCOL", `"http/json"`, "grpc", "http/protobuf"},
		},
		"protocol of one signal": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT":         "http://c:4318",
				"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "smoke",
			},
			want: []string{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", `"smoke"`},
		},
		"exporter": {
			env:  map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"},
			want: []string{"OTEL_TRACES_EXPORTER", `"zipkin"`, "otlp or none"},
		},
		"none and otlp": {
			env:  map[string]string{"OTEL_METRICS_EXPORTER": "otlp,none"},
			want: []string{"OTEL_METRICS_EXPORTER", `"otlp,none"`},
		},
		"no scheme": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"},
			want: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"},
		},
		"no host": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http:///v1/traces"},
			want: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "host"},
		},
		"no URL, with a password": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:secret@c:port"},
			want: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "must be a URL"},
		},
		"query over gRPC": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://c:4317?key=secret", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
			want: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "must have no query for grpc"},
		},
		"no host, with a query": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http:///v1?key=secret"},
			want: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "host"},
		},
		"unix socket over HTTP": {
			env:  map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "unix:///run/c.sock"},
			want: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			_, err := FromEnv()
			if !errors.Is(err, ErrConfig) {
				t.Fatalf("FromEnv = %v, want an error that wraps ErrConfig", err)
			}
			for _, text := range tt.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q does not contain %q", err, text)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q tells the password", err)
			}
		})
	}
}

// Values that the specification allows, or that a cluster sets for programs in all languages, leave
// the rest as it is.
func TestFromEnvLeavesOut(t *testing.T) {
	const base = "http://c:4318"
	traces := Pipeline{Enabled: true, Protocol: ProtocolHTTPProtobuf, Endpoint: base + "/v1/traces"}
	metrics := Pipeline{Enabled: true, Protocol: ProtocolHTTPProtobuf, Endpoint: base + "/v1/metrics"}
	logs := Pipeline{Enabled: true, Protocol: ProtocolHTTPProtobuf, Endpoint: base + "/v1/logs"}
	for name, tt := range map[string]struct {
		variable, value string
		want            Env
		silent          bool
	}{
		"exporter of others":    {"OTEL_METRICS_EXPORTER", "prometheus", Env{Traces: traces, Logs: logs}, false},
		"exporters":             {"OTEL_METRICS_EXPORTER", "otlp, console", Env{Traces: traces, Metrics: metrics, Logs: logs}, false},
		"none and otlp":         {"OTEL_METRICS_EXPORTER", "otlp,none", Env{Traces: traces, Logs: logs}, false},
		"exporter in capitals":  {"OTEL_METRICS_EXPORTER", "OTLP", Env{Traces: traces, Metrics: metrics, Logs: logs}, true},
		"none in capitals":      {"OTEL_METRICS_EXPORTER", "None", Env{Traces: traces, Logs: logs}, true},
		"JSON":                  {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", Env{Traces: traces, Metrics: metrics, Logs: logs}, false},
		"protocol in capitals":  {"OTEL_EXPORTER_OTLP_PROTOCOL", "HTTP/protobuf", Env{Traces: traces, Metrics: metrics, Logs: logs}, true},
		"endpoint of one":       {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "localhost", Env{Traces: traces, Logs: logs}, false},
		"exporter with a typo":  {"OTEL_LOGS_EXPORTER", "oltp", Env{Traces: traces, Metrics: metrics}, false},
		"protocol that is none": {"OTEL_EXPORTER_OTLP_PROTOCOL", "smoke", Env{Traces: traces, Metrics: metrics, Logs: logs}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", base)
			t.Setenv(tt.variable, tt.value)
			got, err := FromEnv()
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Pipeline{})); diff != "" {
				t.Errorf("FromEnv (-want +got):\n%s", diff)
			}
			if tt.silent != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.variable) {
				t.Errorf("FromEnv = %v, want it to name %s, if anything", err, tt.variable)
			}
		})
	}
}

// What the way to an endpoint cannot use is said once, without secrets, and the rest is used, for
// every signal.
func TestTransportLeavesOut(t *testing.T) {
	whole := transport{timeout: 10 * time.Second, headers: map[string]string{}, plain: true}
	with := func(change func(*transport)) transport {
		out := whole
		change(&out)
		return out
	}
	ab := with(func(w *transport) { w.headers = map[string]string{"a": "b"} })
	for name, tt := range map[string]struct {
		variable, value string
		want            transport
		silent          bool
	}{
		"no limit":           {"OTEL_EXPORTER_OTLP_TIMEOUT", "0", with(func(w *transport) { w.timeout = maxTimeout }), true},
		"time":               {"OTEL_EXPORTER_OTLP_TIMEOUT", "250", with(func(w *transport) { w.timeout = 250 * time.Millisecond }), true},
		"time with unit":     {"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", whole, false},
		"negative time":      {"OTEL_EXPORTER_OTLP_TIMEOUT", "-1", whole, false},
		"endless time":       {"OTEL_EXPORTER_OTLP_TIMEOUT", "99999999999999999999", whole, false},
		"capitals":           {"OTEL_EXPORTER_OTLP_COMPRESSION", "GZIP", with(func(w *transport) { w.gzip = true }), true},
		"unknown":            {"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", whole, false},
		"comma at the end":   {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,", ab, true},
		"comma at the start": {"OTEL_EXPORTER_OTLP_HEADERS", " , a=b", ab, true},
		"encoded":            {"OTEL_EXPORTER_OTLP_HEADERS", "a=b%3D%3D", with(func(w *transport) { w.headers = map[string]string{"a": "b=="} }), true},
		"base64":             {"OTEL_EXPORTER_OTLP_HEADERS", "a=b==", with(func(w *transport) { w.headers = map[string]string{"a": "b=="} }), true},
		"no value":           {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,secret", ab, false},
		"no key":             {"OTEL_EXPORTER_OTLP_HEADERS", "=secret,a=b", ab, false},
		"blank in the key":   {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,x y=secret", ab, false},
		"badly encoded":      {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=%zzsecret", ab, false},
		"line in the value":  {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=%0Asecret", ab, false},
		"no certificates":    {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such/file", whole, false},
		"half a pair":        {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/no/such/file", whole, false},
	} {
		transportLeavesOut(t, name, tt.variable, tt.value, tt.want, tt.silent)
	}
}

// transportLeavesOut tests one variable by each protocol.
func transportLeavesOut(t *testing.T, name, variable, value string, want transport, silent bool) {
	t.Helper()
	for _, p := range protocols {
		t.Run(name+" by "+string(p), func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", string(p))
			t.Setenv("OTEL_PROFILES_EXPORTER", "otlp")
			t.Setenv(variable, value)
			for _, s := range []signal{traces, metrics, logs, profiles} {
				got, _ := transportFromEnv(s, "http://c:4318")
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(transport{}), cmpopts.IgnoreFields(transport{}, "tls")); diff != "" || got.tls == nil {
					t.Errorf("%s (-want +got):\n%s", s.upper, diff)
				}
			}
			env, err := FromEnv()
			p, errProfiles := ProfilesFromEnv()
			if !env.Traces.Enabled || !env.Metrics.Enabled || !env.Logs.Enabled || !p.Enabled {
				t.Errorf("FromEnv = %+v, %+v, want all signals", env, p)
			}
			for _, err := range []error{err, errProfiles} {
				said := fmt.Sprint(err)
				if silent != (err == nil) || err != nil && strings.Count(said, variable) != 1 || strings.Contains(said, "secret") {
					t.Errorf("said %q, want %s named once, if anything, and no secret", said, variable)
				}
			}
		})
	}
}
