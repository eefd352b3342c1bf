package spans_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelprof/otelprof/internal/testutil/thorough"
	"github.com/otelprof/otelprof/spans"
)

// TestRandomProgramsSeeTheSDK runs random programs on the SDK alone and on the wrapped one. Both
// export the same, show the program the same, and inject the same headers; and regions and sessions
// agree with what is exported.
func TestRandomProgramsSeeTheSDK(t *testing.T) {
	n := thorough.Of(30_000, 1200)
	agreed := 0
	for seed := range uint64(n) {
		bare, _ := runRandom(t, seed, nil)
		var opts []spans.Option
		if seed%8 == 7 {
			opts = append(opts, spans.WithoutRecording())
		}
		wrapped, compared := runRandom(t, seed, append(opts, spans.WithStore(&mapStore{})))
		if diff := cmp.Diff(bare, wrapped, byValue); diff != "" {
			t.Fatalf("program %d: the wrapped SDK differs (-sdk +wrapped):\n%s", seed, diff)
		}
		if compared {
			agreed++
		}
	}
	t.Logf("%d programs were compared, regions and sessions with the exports of %d", n, agreed)
}

// A randomProgram draws calls of the API, the same ones for one seed.
type randomProgram struct {
	*rand.Rand
	tp      trace.TracerProvider
	sdk     *sdktrace.TracerProvider
	added   []sdktrace.SpanProcessor
	spans   []trace.Span
	ctxs    []context.Context
	seen    []any
	dropped bool // some span was left out by the sampler
	down    bool
	ends    bool // some processor ends spans
}

var headers = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// runRandom runs a program, wrapped if there are options, and returns all that can be seen of it.
func runRandom(t *testing.T, seed uint64, opts []spans.Option) (seen []any, compared bool) {
	p := &randomProgram{Rand: rand.New(rand.NewPCG(seed, 1))}
	sdkOpts := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
		sdktrace.WithSampler([]sdktrace.Sampler{
			sdktrace.AlwaysSample(), sdktrace.NeverSample(),
			byName{},
			sdktrace.ParentBased(byName{}),
			sdktrace.ParentBased(sdktrace.AlwaysSample()), sdktrace.TraceIDRatioBased(0.5),
		}[p.IntN(6)]),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
			AttributeValueLengthLimit: 4, AttributeCountLimit: 4, EventCountLimit: 3, LinkCountLimit: 2,
			AttributePerEventCountLimit: 3, AttributePerLinkCountLimit: 1,
		}),
	}
	if p.IntN(4) == 0 {
		sdkOpts = append(sdkOpts, sdktrace.WithoutPanicRecording())
	}
	if p.IntN(2) == 0 {
		sdkOpts = append(sdkOpts, sdktrace.WithSpanProcessor(p.processor()))
	}
	sdk, ended := newRecorded(sdkOpts...)
	p.tp, p.sdk = sdk, sdk
	var tp *spans.TracerProvider
	if opts != nil {
		tp = spans.WrapTracerProvider(sdk, opts...)
		p.tp = tp
	}
	p.run()
	for _, stub := range tracetest.SpanStubsFromReadOnlySpans(ended.Ended()) {
		p.seen = append(p.seen, normalised(stub))
	}
	if tp == nil {
		return p.seen, false
	}
	if !p.dropped && !p.down && len(opts) == 1 {
		compared = true
		compareMeasured(t, seed, tp, ended.Ended())
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	return p.seen, compared
}

// compareMeasured holds regions and sessions against the spans that were exported.
func compareMeasured(t *testing.T, seed uint64, tp *spans.TracerProvider, ended []sdktrace.ReadOnlySpan) {
	type key struct {
		scope instrumentation.Scope
		name  string
	}
	type counts struct{ All, Errors uint64 }
	want, got := map[key]counts{}, map[key]counts{}
	exported := map[trace.SpanID]sdktrace.ReadOnlySpan{}
	for _, s := range ended {
		k := key{s.InstrumentationScope(), s.Name()}
		c := want[k]
		c.All++
		if s.Status().Code == codes.Error {
			c.Errors++
		}
		want[k] = c
		exported[s.SpanContext().SpanID()] = s
	}
	for _, r := range tp.Regions() {
		got[key{r.Scope, r.Name}] = counts{r.Count, r.Errors}
	}
	if diff := cmp.Diff(want, got, byValue, cmp.AllowUnexported(key{})); diff != "" {
		t.Errorf("program %d: regions differ from what is exported (-exported +regions):\n%s", seed, diff)
	}
	all := 0
	for _, rec := range stored(t, tp) {
		for _, s := range rec.Spans {
			all++
			e := exported[s.SpanID]
			if e == nil || e.Name() != s.Name || e.Status().Code != s.Status || e.Status().Description != s.StatusText || len(e.Events()) != len(s.Events) {
				t.Errorf("program %d: a session has span %+v, exported %+v", seed, s, e)
			}
		}
	}
	if all != len(ended) {
		t.Errorf("program %d: %d spans in sessions, %d exported", seed, all, len(ended))
	}
}

// processor draws one that changes spans as they start.
func (p *randomProgram) processor() sdktrace.SpanProcessor {
	what := p.IntN(5)
	p.ends = p.ends || what == 3
	return &changing{func(s sdktrace.ReadWriteSpan) {
		switch what {
		case 0:
			s.SetName("unsampled renamed")
		case 1:
			s.SetStatus(codes.Error, "processor")
		case 2:
			s.SetStatus(codes.Ok, "")
		case 3:
			if s.Name() == "b" {
				s.End(at(5 * ms))
			}
		case 4:
			s.SetAttributes(attribute.Bool("processor", true))
		}
	}}
}

// changing can be compared, as UnregisterSpanProcessor does.
type changing struct{ onStart }

func (p *randomProgram) run() {
	for range 3 + p.IntN(25) {
		switch what := p.IntN(20); {
		case what < 6 || len(p.spans) == 0:
			p.start()
		case what < 15:
			p.use(p.spans[p.IntN(len(p.spans))])
		case what < 17:
			p.panics()
		case what == 17:
			p.register()
		case what == 18:
			p.see(p.tp.(interface{ ForceFlush(context.Context) error }).ForceFlush(context.Background()))
		case p.IntN(4) == 0:
			p.down = true
			p.see(p.tp.(interface{ Shutdown(context.Context) error }).Shutdown(context.Background()))
		}
	}
	for _, s := range p.spans {
		s.End()
	}
}

func (p *randomProgram) see(v ...any) { p.seen = append(p.seen, v...) }

func (p *randomProgram) attributes() (kv []attribute.KeyValue) {
	for range p.IntN(4) {
		key := string(rune('a' + p.IntN(6)))
		kv = append(kv, []attribute.KeyValue{
			attribute.Int(key, p.IntN(9)), attribute.String(key, "a long value"), attribute.StringSlice(key, []string{"x", "y"}), {},
		}[p.IntN(4)])
	}
	return kv
}

func (p *randomProgram) link() trace.Link {
	l := trace.Link{Attributes: p.attributes()}
	if len(p.spans) > 0 && p.IntN(3) > 0 {
		l.SpanContext = p.spans[p.IntN(len(p.spans))].SpanContext()
	}
	return l
}

func (p *randomProgram) above() context.Context {
	ctx := context.Background()
	if len(p.ctxs) > 0 && p.IntN(3) > 0 {
		ctx = p.ctxs[p.IntN(len(p.ctxs))]
	}
	switch p.IntN(8) {
	case 0:
		state, _ := trace.ParseTraceState("vendor=1")
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1, byte(p.IntN(9))}, SpanID: trace.SpanID{2}, TraceFlags: trace.TraceFlags(p.IntN(4)), TraceState: state,
		}))
	case 1:
		m, _ := baggage.NewMember("user", fmt.Sprint(p.IntN(9)))
		b, _ := baggage.New(m)
		ctx = baggage.ContextWithBaggage(ctx, b)
	}
	return ctx
}

func (p *randomProgram) start() {
	var tracer []trace.TracerOption
	if p.IntN(3) == 0 {
		tracer = append(tracer, trace.WithInstrumentationVersion("v1"), trace.WithSchemaURL("https://example.com/s"))
	}
	if p.IntN(3) == 0 {
		tracer = append(tracer, trace.WithInstrumentationAttributes(attribute.Int("a", p.IntN(2))))
	}
	var opts []trace.SpanStartOption
	if p.IntN(3) == 0 {
		opts = append(opts, at(ms))
	}
	if p.IntN(3) == 0 {
		opts = append(opts, trace.WithSpanKind(trace.SpanKind(p.IntN(7))), trace.WithAttributes(p.attributes()...))
	}
	if p.IntN(4) == 0 {
		opts = append(opts, trace.WithLinks(p.link(), p.link()))
	}
	if p.IntN(6) == 0 {
		opts = append(opts, trace.WithNewRoot())
	}
	names := []string{"a", "b", "unsampled", "record-only", "é\xff", ""}
	ctx, s := p.tp.Tracer([]string{"one", "two"}[p.IntN(2)], tracer...).Start(p.above(), names[p.IntN(len(names))], opts...)
	p.ctxs, p.spans = append(p.ctxs, ctx), append(p.spans, s)
	p.look(s)
	carrier := propagation.MapCarrier{}
	headers.Inject(ctx, carrier)
	p.see(carrier, trace.SpanContextFromContext(ctx))
}

func (p *randomProgram) look(s trace.Span) {
	p.see(s.SpanContext(), s.IsRecording(), p.down || s.TracerProvider() == p.tp)
	r, ok := s.(sdktrace.ReadOnlySpan)
	p.see(ok)
	if ok {
		p.see(normalised(tracetest.SpanStubFromReadOnlySpan(r)))
	} else {
		p.dropped = true
	}
}

func (p *randomProgram) use(s trace.Span) {
	switch p.IntN(9) {
	case 0:
		s.SetName([]string{"a", "b", "c", ""}[p.IntN(4)])
	case 1:
		s.SetStatus(codes.Code(p.IntN(3)), "why")
	case 2:
		s.SetAttributes(p.attributes()...)
	case 3:
		s.AddEvent("event", at(2*ms), trace.WithAttributes(p.attributes()...))
	case 4:
		s.RecordError([]error{nil, errors.New("no"), fmt.Errorf("outer: %w", &failure{1})}[p.IntN(3)], trace.WithStackTrace(p.IntN(2) == 0))
	case 5:
		s.AddLink(p.link())
	case 6:
		s.End(p.endOptions()...)
	case 7:
		s.End(p.endOptions()...)
		s.End(p.endOptions()...)
	default:
		p.look(s)
	}
}

func (p *randomProgram) endOptions() (opts []trace.SpanEndOption) {
	if p.IntN(2) == 0 {
		opts = append(opts, at(3*ms))
	}
	if p.IntN(4) == 0 {
		opts = append(opts, trace.WithStackTrace(true))
	}
	return opts
}

// panics lets a panic through deferred Ends, and sees how often it was raised.
func (p *randomProgram) panics() {
	value := []any{"boom", errors.New("no"), 7, &failure{2}, nil}[p.IntN(5)]
	defer func() {
		raised := strings.Count(string(debug.Stack()), "\npanic(")
		p.see(fmt.Sprint(recover()))
		if !p.ends { // the wrapper raises a panic again also in a span that a processor has ended
			p.see(raised)
		}
	}()
	for range 1 + p.IntN(3) {
		s := p.spans[p.IntN(len(p.spans))]
		if p.IntN(3) == 0 {
			s = trace.SpanFromContext(p.ctxs[p.IntN(len(p.ctxs))])
		}
		defer s.End(p.endOptions()...)
	}
	panic(value)
}

func (p *randomProgram) register() {
	r := p.tp.(interface {
		RegisterSpanProcessor(sdktrace.SpanProcessor)
		UnregisterSpanProcessor(sdktrace.SpanProcessor)
	})
	if len(p.added) > 0 && p.IntN(2) == 0 {
		r.UnregisterSpanProcessor(p.added[0])
		p.added = p.added[1:]
		return
	}
	p.added = append(p.added, p.processor())
	r.RegisterSpanProcessor(p.added[len(p.added)-1])
}
