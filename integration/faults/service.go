package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/causal"
	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/exporter"
	"github.com/otelprof/otelprof/spans"
)

// The kinds of service.
const (
	ours = "ours" // otelprof.Setup with everything on
	bare = "bare" // the SDK alone
)

// A serviceConfig holds the values of a service's flags.
type serviceConfig struct {
	kind      string
	names     int    // how many names its spans have
	spans     int    // of a request
	held      int    // MiB of live heap
	attribute int    // bytes of an attribute of each tenth request
	panics    string // what panics: "", "hook", "store" or "logger"
	seccomp   bool   // perf_event_open is refused
}

func serviceFlags(flags *flag.FlagSet) *serviceConfig {
	c := &serviceConfig{}
	flags.StringVar(&c.kind, serviceFlag, "", "be this `kind` of service, for the command itself: ours or bare")
	flags.IntVar(&c.names, "service.names", 1, "how many names the spans have, for the service")
	flags.IntVar(&c.spans, "service.spans", 4, "how many spans a request has, 4 at least, for the service")
	flags.IntVar(&c.held, "service.held", 0, "MiB of live heap, for the service")
	flags.IntVar(&c.attribute, "service.attribute", 0, "bytes of an attribute of each tenth request, for the service")
	flags.StringVar(&c.panics, "service.panics", "", "what panics, for the service: hook, store or logger")
	flags.BoolVar(&c.seccomp, "service.seccomp", false, "have perf_event_open refused, for the service")
	return c
}

// addresses is the first line that a service prints.
type addresses struct {
	Work    string `json:"work"`
	Control string `json:"control"`
	Viewer  string `json:"viewer,omitempty"`
}

// state is what /state answers, and the last line that a service prints.
type state struct {
	Goroutines int                    `json:"goroutines"`
	Heap       uint64                 `json:"heap"`    // bytes, after a collection
	Sampled    uint64                 `json:"sampled"` // spans that have ended
	Said       []string               `json:"said"`    // warnings and errors in the log
	Exports    []exporter.Stats       `json:"exports,omitempty"`
	Recording  causal.RecordingStatus `json:"recording"`
	Took       time.Duration          `json:"took"` // by Shutdown
}

// A service answers requests, and has spans and a log as services have them.
type service struct {
	config   serviceConfig
	tracer   trace.Tracer
	profiler *otelprof.Profiler // nil without otelprof
	said     *said
	sampled  atomic.Uint64
	requests atomic.Uint64
	counts   bool // Sampled counts the spans, which all go to otelprof's provider
	harm     harm
}

// shutdownTimeout is how long a service lets its telemetry end.
const shutdownTimeout = 3 * time.Second

// serve is the service: from the start to the end of ctx.
func serve(ctx context.Context, c serviceConfig, stdout io.Writer) error {
	if c.seccomp {
		if err := refusePerf(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	if err := joinGroup(c.kind); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	s := &service{config: c, said: &said{panics: c.panics == "logger"}}
	held := filledHeap(c.held)
	defer runtime.KeepAlive(held)
	// The application's log goes to OpenTelemetry, and so does what otelprof logs.
	slog.SetDefault(slog.New(slog.NewMultiHandler(s.said, otelslog.NewHandler("service"))))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.said.add("otel: " + err.Error()) }))
	end, err := s.instrument(ctx)
	if err != nil {
		return err
	}

	work, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	worker := &http.Server{Handler: http.HandlerFunc(s.work), ReadHeaderTimeout: time.Minute}
	controller := &http.Server{Handler: s.controls(), ReadHeaderTimeout: time.Minute}
	go func() { _ = worker.Serve(work) }()
	go func() { _ = controller.Serve(control) }()

	a := addresses{Work: "http://" + work.Addr().String(), Control: "http://" + control.Addr().String()}
	if s.profiler != nil {
		a.Viewer = s.profiler.ViewerURL()
	}
	if err := json.NewEncoder(stdout).Encode(a); err != nil {
		return err
	}

	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	_ = worker.Shutdown(ending)
	started := time.Now()
	_ = end(ending) // what is lost stands in the state
	took := time.Since(started)
	last := s.state()
	last.Took = took
	_ = controller.Shutdown(context.Background())
	return json.NewEncoder(stdout).Encode(last)
}

// filledHeap allocates mib MiB and writes each byte, so that the memory is resident.
func filledHeap(mib int) []byte {
	held := make([]byte, mib<<20)
	for i := range held {
		held[i] = 1
	}
	return held
}

// controls returns the handler of requests that steer the service: state, harm, looks and waits.
func (s *service) controls() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s.state()) })
	mux.HandleFunc("POST /harm/{kind}", func(w http.ResponseWriter, r *http.Request) {
		if err := s.harm.start(s, r.PathValue("kind"), r.FormValue("n")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("DELETE /harm", func(http.ResponseWriter, *http.Request) { s.harm.stop() })
	mux.HandleFunc("POST /look", func(http.ResponseWriter, *http.Request) { go func() { _ = s.profiler.Causal().Profile() }() })
	mux.HandleFunc("GET /steady", func(w http.ResponseWriter, _ *http.Request) {
		if err := await("a steady state", s.steady); err != nil {
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
		}
	})
	mux.HandleFunc("GET /recorded", func(w http.ResponseWriter, _ *http.Request) {
		if err := await("an analysis that has ended", func() bool { return s.profiler.Causal().Status().Recording.Recordings > 0 }); err != nil {
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
		}
	})
	return mux
}

// instrument makes the tracer; end exports what is left.
func (s *service) instrument(ctx context.Context) (end func(context.Context) error, err error) {
	if s.config.kind == bare {
		otlp, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(otlp))
		s.tracer = p.Tracer("service")
		return p.Shutdown, nil
	}
	options := []otelprof.Option{
		otelprof.WithServiceName("faults"), otelprof.WithCounters(), otelprof.WithStacks(), otelprof.WithTimes(),
		otelprof.WithExperiments(plan.DefaultLimits()),
	}
	if s.config.panics == "store" {
		options = append(options, otelprof.WithStore(panickingStore{}))
	}
	if s.profiler, err = otelprof.Setup(ctx, options...); err != nil {
		return nil, err
	}
	if s.counts = s.config.panics != "hook"; !s.counts {
		p := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(panickingHook{}), spans.WithHook(s.profiler.Causal().Hook()))
		s.tracer = p.Tracer("service")
		return func(ctx context.Context) error { return errors.Join(p.Shutdown(ctx), s.profiler.Shutdown(ctx)) }, nil
	}
	s.tracer = s.profiler.TracerProvider().Tracer("service")
	return s.profiler.Shutdown, nil
}

// work answers a request: 2 ms of waiting and some computing, four spans or more, and now and then
// a line in the log.
func (s *service) work(w http.ResponseWriter, r *http.Request) {
	n := s.requests.Add(1)
	name := "GET /work"
	if s.config.names > 1 {
		name += "/" + strconv.FormatUint(n%uint64(s.config.names), 10)
	}
	ctx, span := s.tracer.Start(r.Context(), name, trace.WithSpanKind(trace.SpanKindServer))
	if s.config.attribute > 0 && n%10 == 0 {
		span.SetAttributes(attribute.String("blob", strings.Repeat("x", s.config.attribute)))
	}
	s.part(ctx, "query", func() { time.Sleep(2 * time.Millisecond) })
	for range s.config.spans - 4 {
		s.part(ctx, "step", func() {})
	}
	sum := 0
	s.part(ctx, "render", func() {
		for i := range 20_000 {
			sum += i * i
		}
	})
	s.part(ctx, "log", func() {
		if n%10 == 0 {
			slog.InfoContext(ctx, "served", slog.Uint64("request", n))
		}
	})
	span.End()
	if s.counts && span.SpanContext().IsSampled() {
		s.sampled.Add(1)
	}
	_, _ = fmt.Fprintln(w, sum)
}

func (s *service) part(ctx context.Context, name string, f func()) {
	_, span := s.tracer.Start(ctx, name)
	f()
	span.End()
	if s.counts && span.SpanContext().IsSampled() {
		s.sampled.Add(1)
	}
}

// steady reports whether nothing is being recorded or analysed, and nothing will be for some
// seconds.
func (s *service) steady() bool {
	r := s.profiler.Causal().Status().Recording
	return r.Phase == "waiting" && time.Until(r.Next) > 5*time.Second
}

func (s *service) state() state {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	now := state{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc, Sampled: s.sampled.Load(), Said: s.said.all()}
	if s.profiler != nil {
		now.Exports, now.Recording = s.profiler.Exports(), s.profiler.Causal().Status().Recording
	}
	return now
}

// said is a log handler that keeps warnings and errors.
type said struct {
	panics bool
	mu     sync.Mutex
	lines  []string
}

func (h *said) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.panics
}

func (h *said) Handle(_ context.Context, r slog.Record) error {
	if h.panics && strings.HasPrefix(r.Message, "otelprof") {
		panic("the logger panics")
	}
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	if r.Level >= slog.LevelWarn {
		h.add(line)
	}
	return nil
}

func (h *said) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *said) WithGroup(string) slog.Handler      { return h }

func (h *said) add(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.lines) < 1000 {
		h.lines = append(h.lines, line)
	}
}

func (h *said) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.lines...)
}

// A panickingHook panics wherever it is called.
type panickingHook struct{}

func (panickingHook) OnStart(context.Context, *spans.Span) context.Context { panic("OnStart panics") }

func (panickingHook) OnEnd(*spans.Span) { panic("OnEnd panics") }

func (panickingHook) AfterEnd(*spans.Span) time.Duration { panic("AfterEnd panics") }

// A panickingStore panics wherever it is called.
type panickingStore struct{}

func (panickingStore) Append(*spans.SessionRecord) error { panic("Append panics") }
func (panickingStore) Session(spans.SessionID) (*spans.SessionRecord, bool) {
	panic("Session panics")
}
func (panickingStore) Sessions(spans.Query) []*spans.SessionRecord { panic("Sessions panics") }
