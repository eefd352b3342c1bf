package otelprof

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/global"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	collogpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetricpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	_ "github.com/otelprof/otelprof/causal/remote/opamp" // for OTELPROF_OPAMP_ENDPOINT
	"github.com/otelprof/otelprof/internal/mark"
	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/threadtime"
	"github.com/otelprof/otelprof/pmuattrs"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/stacks"
	"github.com/otelprof/otelprof/viewer"
)

// A receiver is an OTLP server over HTTP that remembers names.
type receiver struct {
	*httptest.Server
	mu          sync.Mutex
	spans       []string
	metrics     []string
	exponential []string // of metrics, the exponential histograms
	logs        []string // bodies
	events      []string // of spans named as the audit's: the kinds
	resource    *resourcepb.Resource
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err == nil {
			err = r.take(req.URL.Path, body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

func (r *receiver) take(path string, body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch path {
	case "/v1/traces":
		var req coltracepb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return err
		}
		for _, rs := range req.GetResourceSpans() {
			r.resource = rs.GetResource()
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					r.spans = append(r.spans, s.GetName())
					for _, e := range s.GetEvents() {
						for _, kv := range e.GetAttributes() {
							if kv.GetKey() == string(naming.PlanEventKindKey) {
								r.events = append(r.events, kv.GetValue().GetStringValue())
							}
						}
					}
				}
			}
		}
	case "/v1/metrics":
		var req colmetricpb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return err
		}
		for _, rm := range req.GetResourceMetrics() {
			for _, sm := range rm.GetScopeMetrics() {
				for _, m := range sm.GetMetrics() {
					r.metrics = append(r.metrics, m.GetName())
					if m.GetExponentialHistogram() != nil {
						r.exponential = append(r.exponential, m.GetName())
					}
				}
			}
		}
	case "/v1/logs":
		var req collogpb.ExportLogsServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			return err
		}
		for _, rl := range req.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				for _, l := range sl.GetLogRecords() {
					r.logs = append(r.logs, l.GetBody().GetStringValue())
				}
			}
		}
	default:
		return errors.New("no such path")
	}
	return nil
}

// log is a logger's output, for any goroutine.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// warnings are the lines above INFO.
func (l *log) warnings() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.buf.String()) {
		if !strings.Contains(line, "level=INFO") {
			out = append(out, line)
		}
	}
	return out
}

// setup is Setup without globals, with a logger.
func setup(t *testing.T, opts ...Option) (*Profiler, *log) {
	t.Helper()
	l := &log{}
	p, err := Setup(t.Context(), append([]Option{WithLogger(slog.New(slog.NewTextHandler(l, nil))), WithoutGlobals()}, opts...)...)
	if err != nil {
		t.Fatalf("Setup: %v", err)
	}
	t.Cleanup(func() { _ = p.Shutdown(within(t, 5*time.Second)) })
	return p, l
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func spanOf(p *Profiler, name string) {
	_, s := p.TracerProvider().Tracer("test").Start(context.Background(), name)
	s.End()
}

func TestSetupDeliversEverywhere(t *testing.T) {
	r := newReceiver(t)
	dir := filepath.Join(t.TempDir(), "made", "for", "it")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv(envDataDir, dir)
	p, l := setup(t, WithServiceName("shop"), WithViewer("127.0.0.1:0"))

	const n = 100
	for range n {
		spanOf(p, "checkout")
	}
	counter, err := p.MeterProvider().Meter("test").Int64Counter("orders")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 1)
	histogram, err := p.MeterProvider().Meter("test").Float64Histogram("payment.duration", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	histogram.Record(t.Context(), 0.0125)
	var record otellog.Record
	record.SetBody(attribute.StringValue("paid"))
	p.LoggerProvider().Logger("test").Emit(t.Context(), record)
	transport := &http.Transport{}
	res, err := (&http.Client{Transport: transport}).Get(p.ViewerURL() + "healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	transport.CloseIdleConnections()
	if res.StatusCode != http.StatusOK {
		t.Errorf("viewer's healthz answers %s", res.Status)
	}
	if err := p.Shutdown(within(t, 10*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}

	if len(r.spans) != n || r.spans[0] != "checkout" {
		t.Errorf("%d spans received, want %d", len(r.spans), n)
	}
	if !slices.Contains(r.metrics, "orders") || len(r.metrics) < 2 {
		t.Errorf("metrics %q received, want orders and those of the regions", r.metrics)
	}
	if !slices.Contains(r.exponential, "payment.duration") {
		t.Errorf("exponential histograms %q received, want payment.duration", r.exponential)
	}
	if diff := cmp.Diff([]string{"paid"}, r.logs); diff != "" {
		t.Errorf("log records received (-want +got):\n%s", diff)
	}
	attributes := map[string]string{}
	for _, kv := range r.resource.GetAttributes() {
		attributes[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	if attributes["service.name"] != "shop" || len(attributes["service.instance.id"]) != 36 {
		t.Errorf("resource %v, want service.name shop and an instance id", attributes)
	}
	for _, name := range []string{"traces.jsonl", "metrics.jsonl", "logs.jsonl"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.HasPrefix(data, []byte(`{"resource`)) || !bytes.HasSuffix(data, []byte("}\n")) {
			t.Errorf("%s: %v, %d bytes, want lines of JSON", name, err, len(data))
		}
	}
	exports := p.Exports()
	if len(exports) != 6 {
		t.Fatalf("Exports = %+v, want three files and three endpoints", exports)
	}
	for _, s := range exports {
		if s.Exported == 0 || s.Exported != s.Ended() {
			t.Errorf("Exports: %+v, want all exported", s)
		}
	}
	if w := l.warnings(); len(w) != 0 {
		t.Errorf("said %q", w)
	}
}

func TestSetupBadValues(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		opts []Option
		want error
		text string
	}{
		"counter events":  {opts: []Option{WithCounters(pmuattrs.WithEvents())}, want: pmuattrs.ErrConfig, text: "0 events"},
		"viewer public":   {opts: []Option{WithViewer("0.0.0.0:8080")}, want: viewer.ErrConfig, text: "0.0.0.0:8080"},
		"viewer empty":    {opts: []Option{WithViewer("")}, want: ErrConfig, text: "viewer"},
		"service name":    {opts: []Option{WithServiceName("")}, want: ErrConfig, text: "service name"},
		"limits":          {opts: []Option{WithExperiments(plan.Limits{})}, want: causal.ErrConfig, text: "per_span"},
		"breaker":         {opts: []Option{WithBreaker(plan.Abort{})}, want: causal.ErrConfig, text: "breaker: p99_ratio"},
		"allowed":         {opts: []Option{WithAllowed(plan.Allowed{})}, want: causal.ErrConfig, text: "allowed: modes"},
		"nil values":      {opts: []Option{WithLogger(nil), WithStore(nil), WithResource(nil)}, want: ErrConfig, text: "store nil"},
		"empty locations": {opts: []Option{WithDataDir(""), WithPlanFile("")}, want: ErrConfig, text: "plan file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			p, err := Setup(t.Context(), append(tt.opts, WithoutGlobals())...)
			if err == nil {
				_ = p.Shutdown(t.Context())
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Setup = %v, want an error that wraps %q and says %q", err, tt.want, tt.text)
			}
		})
	}
}

func TestSetupJoinsErrors(t *testing.T) {
	_, err := Setup(t.Context(), WithServiceName(""), WithPlanFile(""))
	for _, text := range []string{"plan file", "service name"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Setup = %v, want it to name %s too", err, text)
		}
	}
}

// The service starts with any environment. A value that is not understood is logged and left out; a
// kill switch that is not understood kills.
func TestSetupAnyEnvironment(t *testing.T) {
	key, file := filepath.Join(t.TempDir(), "key.pem"), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		variable, value string
		said            string // "" for nothing
		holds           func(p *Profiler) bool
	}{
		{envExperiments, "OFF", "", func(p *Profiler) bool { return !p.Causal().Status().Enabled }},
		{envExperiments, "false", "", func(p *Profiler) bool { return !p.Causal().Status().Enabled }},
		{envExperiments, "0", "", func(p *Profiler) bool { return !p.Causal().Status().Enabled }},
		{envExperiments, "of", envExperiments, func(p *Profiler) bool { return !p.Causal().Status().Enabled }},
		{envExperiments, "True", "", func(p *Profiler) bool { return p.Causal().Status().Enabled }},
		{envReplay, "False", "", func(p *Profiler) bool { return !p.Causal().Status().Recording.On }},
		{envReplay, "never", envReplay, func(p *Profiler) bool { return !p.Causal().Status().Recording.On }},
		{envDisabled, "on", "", func(p *Profiler) bool { return !p.Causal().Status().Enabled && p.ViewerURL() == "" }},
		{envDisabled, "maybe", envDisabled, func(p *Profiler) bool { return !p.Causal().Status().Enabled && p.ViewerURL() == "" }},
		{envDisabled, "off", "", func(p *Profiler) bool { return p.ViewerURL() != "" }},
		{envViewer, "OFF", "", func(p *Profiler) bool { return p.ViewerURL() == "" }},
		{envCounters, "FALSE", "", func(p *Profiler) bool { return p.Counters() == nil }},
		{envStacks, "sometimes", envStacks, func(p *Profiler) bool { return p.Stacks() == nil }},
		{envSchedule, "0", "", func(p *Profiler) bool { return p.Schedule() == nil }},
		{envMarks, "sometimes", envMarks, func(*Profiler) bool { return !writesMarks(t) }},
		{envTimes, ",,", envTimes, nil},
		{envPlanURL, "ftp://plans", "scheme must be one of", nil},
		{envPlanURL, "http://plans.example/v1/plan", "https", nil},
		{envOpAMP, "localhost:4320", "scheme", nil},
		{envPlanKey, key, envPlanKey, nil},
		{envDataDir, filepath.Join(file, "below"), "not a directory", nil},
		{"OTEL_METRICS_EXPORTER", "prometheus", "OTEL_METRICS_EXPORTER", nil},
		{"OTEL_TRACES_EXPORTER", "otlp,console", "OTEL_TRACES_EXPORTER", nil},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "OTEL_EXPORTER_OTLP_PROTOCOL", nil},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", nil},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "many", "OTEL_BSP_MAX_QUEUE_SIZE", nil},
		{"OTEL_BLRP_SCHEDULE_DELAY", "5s", "OTEL_BLRP_SCHEDULE_DELAY", nil},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "OTEL_EXPORTER_OTLP_TIMEOUT", nil},
	} {
		t.Run(tt.variable+"="+tt.value, func(t *testing.T) {
			r := newReceiver(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
			t.Setenv("OTEL_PROFILES_EXPORTER", "otlp")
			t.Setenv(envStacks, "on")
			t.Setenv(tt.variable, tt.value)
			p, l := setup(t, WithExperiments(plan.DefaultLimits()), WithViewer("127.0.0.1:0"))
			spanOf(p, "checkout")
			_ = p.Shutdown(within(t, 5*time.Second))
			if tt.holds != nil && !tt.holds(p) {
				t.Error("the switch is not as it was set")
			}
			said := strings.Join(l.warnings(), "")
			if tt.said == "" && strings.Contains(said, tt.variable) || !strings.Contains(said, tt.said) {
				t.Errorf("said %q, want %q", said, tt.said)
			}
		})
	}
}

// A public key that cannot be read admits no plan.
func TestSetupWithoutItsKeyTakesNoPlan(t *testing.T) {
	t.Setenv(envPlanKey, filepath.Join(t.TempDir(), "key.pem"))
	t.Setenv(envPlanFile, planFile(t, "unsigned"))
	p, _ := setup(t, WithServiceName("shop"), WithExperiments(plan.DefaultLimits()))
	eventually(t, p, "the plan refused", func(s causal.Status) bool { return strings.Contains(s.LastError, "signature") })
}

// What the machine lacks is logged once, and the application runs on.
func TestSetupRunsOn(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+dead.Addr().String())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(file, "below")
	p, l := setup(t, WithViewer(busy.Addr().String()), WithDataDir(dir))

	if got := p.ViewerURL(); got != "" {
		t.Errorf("ViewerURL = %q without a viewer", got)
	}
	spanOf(p, "checkout")
	if got := p.TracerProvider().Regions(); len(got) != 1 {
		t.Errorf("Regions = %v, want the span measured", got)
	}
	for range 3 {
		spanOf(p, "checkout")
		_ = p.TracerProvider().ForceFlush(within(t, 5*time.Second))
	}
	err = p.Shutdown(within(t, time.Minute))
	if err == nil || !strings.Contains(err.Error(), "4 spans not delivered") {
		t.Errorf("Shutdown = %v, want it to tell what was lost", err)
	}
	for _, text := range []string{busy.Addr().String(), dir, "otlp: traces to", "otlp: metrics to"} {
		said := func() (lines int) {
			for _, line := range l.warnings() {
				if strings.Contains(line, text) {
					lines++
				}
			}
			return lines
		}
		if testutil.Eventually(func() bool { return said() > 0 }); said() != 1 {
			t.Errorf("%q said %d times, want once:\n%s", text, said(), strings.Join(l.warnings(), ""))
		}
	}
}

func TestSetupGlobals(t *testing.T) {
	tp, mp, lp, prop := otel.GetTracerProvider(), otel.GetMeterProvider(), global.GetLoggerProvider(), otel.GetTextMapPropagator()
	setup(t)
	if otel.GetTracerProvider() != tp || otel.GetMeterProvider() != mp || global.GetLoggerProvider() != lp {
		t.Error("globals changed with WithoutGlobals")
	}
	t.Cleanup(func() {
		otel.SetTracerProvider(tp)
		otel.SetMeterProvider(mp)
		global.SetLoggerProvider(lp)
		otel.SetTextMapPropagator(prop)
	})
	p, err := Setup(t.Context(), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	if otel.GetTracerProvider() != p.TracerProvider() || otel.GetMeterProvider() != p.MeterProvider() || global.GetLoggerProvider() != p.LoggerProvider() {
		t.Error("globals are not the profiler's")
	}
	want := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}).Fields()
	got := otel.GetTextMapPropagator().Fields()
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("propagated fields (-want +got):\n%s", diff)
	}
}

func TestSetupDisabled(t *testing.T) {
	for _, name := range []string{envDisabled, "OTEL_SDK_DISABLED"} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			dir := t.TempDir()
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
			t.Setenv(name, "true")
			p, _ := setup(t, WithDataDir(dir), WithViewer("127.0.0.1:0"), WithExperiments(plan.DefaultLimits()))
			spanOf(p, "checkout")
			if p.ViewerURL() != "" || p.Causal().Status().Enabled || len(p.TracerProvider().Regions()) != 0 {
				t.Errorf("viewer %q, experiments %v, regions %v; want none of them", p.ViewerURL(), p.Causal().Status().Enabled, p.TracerProvider().Regions())
			}
			if err := p.Shutdown(within(t, 5*time.Second)); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 0 {
				t.Errorf("%d files written", len(entries))
			}
			var want []string
			if name == envDisabled { // our part is off, the SDK is not
				want = []string{"checkout"}
			}
			if diff := cmp.Diff(want, r.spans); diff != "" {
				t.Errorf("spans received (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetupExperiments(t *testing.T) {
	in := WithExperiments(plan.DefaultLimits())
	for _, tt := range []struct {
		env  string
		opts []Option
		want bool
	}{
		{"", nil, false},
		{"", []Option{in}, true},
		{"on", nil, true},
		{"on", []Option{in}, true},
		{"off", nil, false},
		{"off", []Option{in}, false},
	} {
		t.Run(fmt.Sprintf("env=%q/options=%d", tt.env, len(tt.opts)), func(t *testing.T) {
			t.Setenv(envExperiments, tt.env)
			p, _ := setup(t, tt.opts...)
			if got := p.Causal().Status().Enabled; got != tt.want {
				t.Errorf("Enabled = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSetupReplay(t *testing.T) {
	for _, tt := range []struct {
		env  string
		opts []Option
		want bool
	}{
		{"", nil, true},
		{"", []Option{WithoutReplay()}, false},
		{"on", nil, true},
		{"on", []Option{WithoutReplay()}, false},
		{"off", nil, false},
	} {
		t.Run(fmt.Sprintf("env=%q/options=%d", tt.env, len(tt.opts)), func(t *testing.T) {
			t.Setenv(envReplay, tt.env)
			p, _ := setup(t, tt.opts...)
			if got := p.Causal().Status().Recording.On; got != tt.want {
				t.Errorf("On = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSetupViewerOffOverrules(t *testing.T) {
	t.Setenv(envViewer, "off")
	p, _ := setup(t, WithViewer("127.0.0.1:0"))
	if got := p.ViewerURL(); got != "" {
		t.Errorf("ViewerURL = %q with OTELPROF_VIEWER=off", got)
	}
}

func TestShutdownConcurrentSafe(t *testing.T) {
	p, _ := setup(t, WithViewer("localhost:0"), WithDataDir(t.TempDir()))
	spanOf(p, "checkout")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := p.Shutdown(within(t, 10*time.Second)); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
	wg.Wait()
	for _, s := range p.Exports() {
		if s.Queued != 0 {
			t.Errorf("Exports: %+v, want nothing queued", s)
		}
	}
	spanOf(p, "late")
}

// The option switches counters on, and events that are missing are logged once.
func TestSetupCounters(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	p, l := setup(t, WithCounters(pmuattrs.WithSampling(1)))
	if p.Counters() == nil {
		testutil.Lacks(t, "USAGE", strings.Join(l.warnings(), ""))
	}
	const n = 3
	for range n {
		spanOf(p, "checkout")
	}
	if got := p.Counters().Stats().Counted; got != n {
		t.Errorf("%d spans counted, want %d", got, n)
	}
	if err := p.TracerProvider().ForceFlush(within(t, 5*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, s := range p.TracerProvider().Store().Sessions(spans.Query{}) {
		if set := attribute.NewSet(s.Spans[0].Attributes...); !set.HasValue(naming.CounterSourceKey) || !set.HasValue(naming.CounterValidKey) {
			t.Errorf("attributes %v, want those of counters", s.Spans[0].Attributes)
		}
	}
	if err := p.Shutdown(within(t, 10*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if want := string(p.Counters().Events()[0].Key()); !slices.Contains(r.exponential, want) {
		t.Errorf("exponential histograms %q received, want %s", r.exponential, want)
	}
	said := 0
	for _, line := range l.warnings() {
		if strings.Contains(line, "otelprof: counters") {
			said++
		}
	}
	if missing := p.Counters().Reason() != nil; missing != (said == 1) || said > 1 {
		t.Errorf("said %d times that counters are missing, which they are: %t", said, missing)
	}
}

func TestSetupCountersSwitch(t *testing.T) {
	for _, tt := range []struct {
		env  string
		opts []Option
		want bool
	}{
		{"", nil, false},
		{"on", nil, true},
		{"off", []Option{WithCounters()}, false},
		{"", []Option{WithCounters()}, true},
	} {
		t.Setenv(envCounters, tt.env)
		p, l := setup(t, tt.opts...)
		if got := p.Counters() != nil || strings.Contains(strings.Join(l.warnings(), ""), "otelprof: counters: none"); got != tt.want {
			t.Errorf("%s=%q, %d options: counters %t, want %t", envCounters, tt.env, len(tt.opts), got, tt.want)
		}
	}
}

// compute takes d of a processor's time, however busy the machine is.
func compute(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for began := threadtime.Now(); threadtime.Now()-began < d; {
		_ = sha256.Sum256(make([]byte, 1<<16))
	}
}

func TestSetupStacksAndSchedule(t *testing.T) {
	t.Setenv(envStacks, "on")
	p, l := setup(t, WithSchedule(), WithViewer("127.0.0.1:0"))
	_, s := p.TracerProvider().Tracer("test").Start(t.Context(), "compute")
	compute(300 * time.Millisecond)
	s.End()
	report, err := p.Schedule().Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot: %v; said %q", err, l.warnings())
	}
	if r, ok := report.Region("test", "compute"); !ok || r.Count != 1 || r.Total.Sum() < 300*time.Millisecond {
		t.Errorf("Region(compute) = %+v, %t, want one of 300 ms", r, ok)
	}
	if status := p.Stacks().Stats(); status.State != stacks.Running {
		t.Errorf("Status = %+v, want the profiler running", status)
	}
	if err := p.Shutdown(within(t, 5*time.Second)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	recording := p.Stacks().Snapshot(0)
	if tree, ok := recording.Tree("compute"); !ok || tree.Total().Samples == 0 {
		t.Errorf("no samples in compute: %v", p.Stacks().Stats())
	}
	host, _ := os.Hostname() // empty in the recording, too
	if want := (stacks.Origin{Service: p.service, Host: host, PID: os.Getpid()}); recording.Origin != want || want.Service == "" {
		t.Errorf("origin %+v, want %+v, with a service", recording.Origin, want)
	}
	if p.Schedule().Recording() {
		t.Error("the schedule is recorded after Shutdown")
	}
}

func TestSetupSamplesSwitch(t *testing.T) {
	p, _ := setup(t)
	if p.Stacks() != nil || p.Schedule() != nil {
		t.Error("samples are taken without being asked for")
	}
	t.Setenv(envStacks, "off")
	t.Setenv(envSchedule, "off")
	p, _ = setup(t, WithStacks(), WithSchedule())
	if p.Stacks() != nil || p.Schedule() != nil {
		t.Errorf("samples are taken with %s=off and %s=off", envStacks, envSchedule)
	}
}

func TestMarksUntilShutdown(t *testing.T) {
	for _, c := range []struct {
		env  string
		opts []Option
		want bool
	}{{"", nil, false}, {"on", nil, true}, {"", []Option{WithMarks()}, true}, {"off", []Option{WithMarks()}, false}} {
		t.Setenv(envMarks, c.env)
		p, _ := setup(t, append(c.opts, WithoutReplay())...)
		if got := writesMarks(t); got != c.want {
			t.Errorf("%s=%q with %d options: marks %t, want %t", envMarks, c.env, len(c.opts), got, c.want)
		}
		if err := p.Shutdown(within(t, 5*time.Second)); err != nil || writesMarks(t) {
			t.Errorf("Shutdown = %v, marks are still written: %t", err, writesMarks(t))
		}
	}
}

// writesMarks reports whether marks are written into a trace of the program's own.
func writesMarks(t *testing.T) bool {
	if err := rtrace.Start(io.Discard); err != nil {
		testutil.Lacks(t, "TRACE", err.Error())
	}
	defer rtrace.Stop()
	return mark.Enabled()
}
