package otelprof

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/internal/testutil/threadtime"
	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
	"github.com/otelprof/otelprof/spans/stacks"
)

// TestLastProfilesAreSent: a program that ends within the period sends one profile of each kind,
// with links, and not within the context that has ended.
func TestLastProfilesAreSent(t *testing.T) {
	cpu, err := stacks.NewProfiler(stacks.WithSpanLabels())
	if err != nil {
		t.Fatal(err)
	}
	defer cpu.Shutdown(context.Background())
	waits, err := schedule.NewRecorder()
	if err != nil {
		t.Fatal(err)
	}
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	defer waits.Shutdown(context.Background())
	tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(cpu.Hook()), spans.WithHook(waits.Hook()))
	defer tp.Shutdown(context.Background())

	sent := map[string]*profile.Profile{}
	s := &profileSender{stacks: cpu, schedule: waits, export: func(ctx context.Context, p *profile.Profile) error {
		if deadline, ok := ctx.Deadline(); ctx.Err() != nil || !ok || time.Until(deadline) > lastProfile {
			t.Errorf("context of the last export: %v, until %v: want one that ends within %v", ctx.Err(), deadline, lastProfile)
		}
		sent[p.SampleType[len(p.SampleType)-1].Type] = p
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	worked := 0
	go func() { defer close(done); s.run(ctx) }()
	_, span := tp.Tracer("test").Start(t.Context(), "op")
	runtime.LockOSThread()
	for begin := threadtime.Now(); threadtime.Now()-begin < 300*time.Millisecond; { // a busy machine takes longer
		time.Sleep(time.Millisecond)
		for i := range 1_000_000 {
			worked += i * worked
		}
	}
	runtime.UnlockOSThread()
	span.End()
	cancel()
	<-done
	id := span.SpanContext().TraceID().String()
	for _, kind := range []string{"cpu", "off_cpu"} {
		found := false
		if p := sent[kind]; p != nil {
			for _, sample := range p.Sample {
				found = found || strings.Join(sample.Label[naming.TraceIDLabel], "") == id && sample.Label[naming.NameLabel][0] == "op"
			}
		}
		if !found {
			t.Errorf("profile %s: no sample has the trace %s: %v", kind, id, sent[kind])
		}
	}
	if len(sent) != 2 {
		t.Errorf("%d profiles, want 2", len(sent))
	}
}

// hasContext reports whether this process has a context for readers outside, as they look for it.
func hasContext(t *testing.T) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		testutil.Lacks(t, "PROC", err.Error())
	}
	return strings.Contains(string(maps), "OTEL_CTX")
}

// labels returns the labels of a goroutine that is started now.
func labels() map[string]string {
	var b strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // a builder takes everything
	}()
	<-done
	out := map[string]string{}
	for _, key := range []string{naming.TraceIDLabel, naming.SpanIDLabel, naming.NameLabel} {
		if _, rest, ok := strings.Cut(b.String(), `"`+key+`":"`); ok {
			out[key], _, _ = strings.Cut(rest, `"`)
		}
	}
	return out
}

func TestSetupProcessContext(t *testing.T) {
	p, l := setup(t, WithServiceName("shop"), WithProcessContext())
	if !hasContext(t) || len(l.warnings()) != 0 {
		t.Fatalf("no process context: %q", l.warnings())
	}
	if s := p.Stacks().Stats(); s.State != stacks.Paused {
		t.Errorf("stacks are %s, want paused: no request for samples", s.State)
	}
	_, span := p.TracerProvider().Tracer("test").Start(t.Context(), "op")
	c := span.SpanContext()
	got := labels()
	if got["trace_id"] != c.TraceID().String() || got["span_id"] != c.SpanID().String() || got["span_name"] != "op" {
		t.Errorf("labels %v, want those of the span %v", got, c)
	}
	span.End()
	if err := p.Shutdown(within(t, 5*time.Second)); err != nil {
		t.Error(err)
	}
	if hasContext(t) {
		t.Error("the context is there after Shutdown")
	}
}

func TestSetupProcessContextSwitch(t *testing.T) {
	if p, _ := setup(t); hasContext(t) || p.Stacks() != nil {
		t.Error("a process context without being asked for")
	}
	t.Setenv(envProcessContext, "off")
	if p, _ := setup(t, WithProcessContext()); hasContext(t) || p.Stacks() != nil {
		t.Errorf("a process context with %s=off", envProcessContext)
	}
	t.Setenv(envProcessContext, "on")
	t.Setenv(envStacks, "off")
	if p, _ := setup(t); !hasContext(t) || p.Stacks() != nil {
		t.Errorf("with %s=off: context %v, labels %v, want the context alone", envStacks, hasContext(t), p.Stacks() != nil)
	}
}
