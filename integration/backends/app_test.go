package backends

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof"
	"github.com/otelprof/otelprof/spans"
)

// An app is a small application in this process that knows exactly what it has measured.
type app struct {
	*otelprof.Profiler
	raw       *rawStore
	latency   metric.Float64Histogram
	latencies []float64 // recorded, in s
	random    *rand.Rand
}

// rawStore keeps the durations of all spans, by name.
type rawStore struct {
	spans.Store
	mu        sync.Mutex
	durations map[string][]float64 // s
}

func (s *rawStore) Append(r *spans.SessionRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range r.Spans {
		s.durations[one.Name] = append(s.durations[one.Name], one.Duration.Seconds())
	}
	return s.Store.Append(r)
}

// newApp sets otelprof up as a service of this name. Env has the variables for it, and dir, unless
// empty, is its data folder.
func newApp(t testing.TB, service string, env []string, dir string, more ...otelprof.Option) *app {
	t.Helper()
	for _, e := range env {
		key, value, _ := strings.Cut(e, "=")
		t.Setenv(key, value)
	}
	a := &app{
		raw:    &rawStore{Store: spans.NewRing(16 << 20), durations: map[string][]float64{}},
		random: rand.New(rand.NewPCG(8, 8)),
	}
	options := append([]otelprof.Option{otelprof.WithServiceName(service), otelprof.WithoutGlobals(), otelprof.WithStore(a.raw)}, more...)
	if dir != "" {
		options = append(options, otelprof.WithDataDir(dir))
	}
	var err error
	if a.Profiler, err = otelprof.Setup(t.Context(), options...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = a.Shutdown(ctx) // a second time, where the test looks at the first
	})
	a.latency, err = a.MeterProvider().Meter("app").Float64Histogram("app.latency", metric.WithUnit("s"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// work makes n traces of three spans, one of which has failed and links to the trace before, and
// records n latencies.
func (a *app) work(t testing.TB, n int) {
	t.Helper()
	tracer := a.TracerProvider().Tracer("app")
	var before trace.SpanContext
	for range n {
		ctx, session := spans.StartSession(t.Context(), "order", attribute.String("tenant", "blue"))
		ctx, root := tracer.Start(ctx, "checkout", trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("session.id", session.ID().String())))
		_, price := tracer.Start(ctx, "price")
		spin(time.Duration(5+a.random.IntN(50)) * time.Microsecond)
		price.End()
		_, pay := tracer.Start(ctx, "pay")
		if before.IsValid() {
			pay.AddLink(trace.Link{SpanContext: before, Attributes: []attribute.KeyValue{attribute.String("why", "retry")}})
		}
		pay.RecordError(errors.New("card refused"), trace.WithStackTrace(true))
		pay.SetStatus(codes.Error, "card refused")
		pay.End()
		root.End()
		session.End()
		before = pay.SpanContext()

		v := math.Exp(a.random.NormFloat64()) / 100 // lognormal about 10 ms
		a.latencies = append(a.latencies, v)
		a.latency.Record(ctx, v)
	}
}

func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// shutdown exports what is left, and fails unless every span has been exported.
func (a *app) shutdown(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for _, s := range a.Exports() {
		if s.Exported != s.Ended() {
			t.Errorf("%+v: want all exported", s)
		}
	}
}

// exact returns the values among which a quantile lies, by the definition of histogram_quantile:
// the one of rank q·n and its neighbours.
func exact(values []float64, q float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	rank := q * float64(len(sorted))
	last := len(sorted) - 1
	return sorted[min(max(int(math.Ceil(rank))-1, 0), last)], sorted[min(int(math.Floor(rank)), last)]
}
