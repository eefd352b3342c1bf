package causal

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// headers are what of a request reaches spans.
type headers struct{ traceparent, tracestate, baggage string }

const (
	member          = "otelprof.session" // of the baggage
	goodID          = "0123456789abcdef0123456789abcdef"
	goodTraceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
)

var seedHeaders = []headers{
	{goodTraceparent, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", member + "=" + goodID},
	{goodTraceparent, "", ""},
	{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "a=b", member + "=" + strings.Repeat("0", 32)},
	{"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "", "a=1;p=2, b=%20x," + member + "=" + goodID + ";q"},
	{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later", "@=", "otelprof.delay=1s,otelprof.causal.plan=p,otelprof.experiments=on"},
	{strings.ToUpper(goodTraceparent), strings.Repeat("a=b,", 40), strings.Repeat("k=v,", 70)},
	{"", "rojo=1", member + "=" + goodID + "," + member + "=" + strings.Repeat("f", 32)},
}

// traceparents may be of later versions, which go on after the flags.
var traceparents = regexp.MustCompile(`(?s)^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// traceID returns the trace that a header names, false if it is not valid (W3C Trace Context).
func (h headers) traceID() (string, bool) {
	m := traceparents.FindStringSubmatch(h.traceparent)
	if m == nil || m[1] == "ff" || m[1] == "00" && m[4] != "" || strings.Trim(m[2], "0") == "" || strings.Trim(m[3], "0") == "" {
		return "", false
	}
	return m[2], true
}

// A receiver is a server's instrumentation in front of two providers, one that trusts its callers
// and one that does not, in a program that has opted in to experiments.
type receiver struct {
	propagator propagation.TextMapPropagator
	controller *Controller
	tracers    map[bool]trace.Tracer // by whether callers are trusted
}

func newReceiver(tb testing.TB) *receiver {
	tb.Helper()
	r := &receiver{
		propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		controller: newController(tb),
		tracers:    map[bool]trace.Tracer{},
	}
	for trusted, opts := range map[bool][]spans.Option{false: nil, true: {spans.WithTrustedSessions()}} {
		tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), append(opts, spans.WithHook(r.controller.Hook()))...)
		tb.Cleanup(func() {
			if err := tp.Shutdown(context.Background()); err != nil {
				tb.Errorf("Shutdown() = %v", err)
			}
		})
		r.tracers[trusted] = tp.Tracer("")
	}
	return r
}

// request serves a request with the headers: what is not valid is as if it were not there.
func (r *receiver) request(tb testing.TB, h headers) {
	tb.Helper()
	carrier := propagation.HeaderCarrier(http.Header{})
	for name, value := range map[string]string{"traceparent": h.traceparent, "tracestate": h.tracestate, "baggage": h.baggage} {
		if value != "" {
			carrier.Set(name, value)
		}
	}
	ctx := r.propagator.Extract(context.Background(), carrier)
	traceID, valid := h.traceID()
	caller := trace.SpanContextFromContext(ctx)
	if caller.IsValid() && (!valid || caller.TraceID().String() != traceID) {
		tb.Fatalf("%+q: the caller is %v", h, caller.TraceID())
	}
	origin, err := spans.ParseSessionID(baggage.FromContext(ctx).Member(member).Value())
	for trusted, tracer := range r.tracers {
		ctx, span := tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
		region := spans.SpanFromContext(ctx)
		session := region.Session()
		if got := span.SpanContext(); !got.IsValid() || caller.IsValid() != (got.TraceID() == caller.TraceID()) || region.Parent() != nil {
			tb.Fatalf("%+q: the span is of trace %v, the caller's is %v", h, got.TraceID(), caller.TraceID())
		}
		if want := trusted && err == nil; want != (session.Origin() != session.ID()) || want && session.Origin() != origin {
			tb.Fatalf("%+q: trusted %t: session %v is of origin %v", h, trusted, session.ID(), session.Origin())
		}
		span.End()
		if region.Delay() != 0 || session.Delay() != 0 {
			tb.Fatalf("%+q: delayed by %v", h, session.Delay())
		}
	}
}

// idle fails the test if anything that came in headers has reached the controller.
func (r *receiver) idle(tb testing.TB) {
	tb.Helper()
	if s := r.controller.Status(); s.State != StateIdle || s.Spent != 0 || len(s.Audit) != 0 || s.LastError != "" || len(s.Withheld) != 0 {
		tb.Errorf("Status() = %+v, want it untouched", s)
	}
}

// mutated changes one of the headers in one or a few places.
func mutated(rng *rand.Rand, h headers) headers {
	field := []*string{&h.traceparent, &h.tracestate, &h.baggage}[rng.IntN(3)]
	for range 1 + rng.IntN(3) {
		s := *field
		at, to := 0, 0
		if len(s) > 0 {
			at = rng.IntN(len(s))
			to = at + rng.IntN(len(s)-at+1)
		}
		switch rng.IntN(8) {
		case 0:
			s = s[:at]
		case 1:
			s = s[:at] + s[to:]
		case 2:
			s = s[:at] + s[at:to] + s[at:]
		case 3:
			s = s[:at] + string([]byte{byte(rng.IntN(256))}) + s[at:]
		case 4:
			s = s[:at] + string(",;=-%\" \t\x00é0f"[rng.IntN(13)]) + s[to:]
		case 5:
			s = s[:at] + strings.ToUpper(s[at:])
		case 6:
			s = s[:at] + strings.Repeat("0", to-at) + s[to:]
		case 7:
			other := seedHeaders[rng.IntN(len(seedHeaders))]
			s += []string{other.traceparent, other.tracestate, other.baggage}[rng.IntN(3)]
		}
		*field = s[:min(len(s), 9000)]
	}
	return h
}

// A request's headers never cause a delay, or a panic, and those that are not valid are as none.
// OTELPROF_TEST_HEADERS sets how many are tried.
func TestMutatedHeaders(t *testing.T) {
	n := thorough.Of(50_000, 10_000)
	if value := os.Getenv("OTELPROF_TEST_HEADERS"); value != "" {
		var err error
		if n, err = strconv.Atoi(value); err != nil {
			t.Fatalf("OTELPROF_TEST_HEADERS %q: must be a number", value)
		}
	}
	r := newReceiver(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, h := range seedHeaders {
		r.request(t, h)
	}
	for range n {
		r.request(t, mutated(rng, seedHeaders[rng.IntN(len(seedHeaders))]))
	}
	r.idle(t)
}

func FuzzHeaders(f *testing.F) {
	for _, h := range seedHeaders {
		f.Add(h.traceparent, h.tracestate, h.baggage)
	}
	r := newReceiver(f)
	f.Fuzz(func(t *testing.T, traceparent, tracestate, baggage string) {
		r.request(t, headers{traceparent, tracestate, baggage})
		r.idle(t)
	})
}
