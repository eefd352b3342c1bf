package spans_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/otelprof/otelprof/spans"
)

// timed starts and ends a span that takes d.
func timed(tr trace.Tracer, name string, d time.Duration) {
	_, s := tr.Start(context.Background(), name, at(0))
	s.End(at(d))
}

func TestRegionStatsOfKnownDurations(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("scope")
	const n = 1000
	var total time.Duration
	for i := 1; i <= n; i++ {
		d := time.Duration(i) * time.Microsecond
		_, s := tr.Start(context.Background(), "op", at(0))
		if i%10 == 0 {
			s.SetStatus(codes.Error, "")
		}
		s.End(at(d))
		total += d
	}
	r := regionOf(t, tp, "op")
	if r.Count != n || r.Errors != n/10 || r.Total != total || r.Self != total {
		t.Errorf("count %d, errors %d, total %v, self %v; want %d, %d, %v, %v", r.Count, r.Errors, r.Total, r.Self, n, n/10, total, total)
	}
	if r.Scope.Name != "scope" || r.Kind != trace.SpanKindInternal {
		t.Errorf("scope %q, kind %v; want scope, internal", r.Scope.Name, r.Kind)
	}
	for _, p := range []float64{50, 90, 99, 99.9} {
		want := p / 100 * n * float64(time.Microsecond)
		if got := float64(r.Durations.Percentile(p)); math.Abs(got-want) > 0.0011*want {
			t.Errorf("Percentile(%v) = %v ns, want %v ns within 0.1 %%", p, got, want)
		}
	}
	if got := time.Duration(r.Durations.Max()); got != n*time.Microsecond {
		t.Errorf("Max() = %v, want 1ms", got)
	}
}

func TestRegionPerScopeAndName(t *testing.T) {
	tp := wrapSDK(t)
	for _, tr := range []trace.Tracer{tp.Tracer("a"), tp.Tracer("b"), tp.Tracer("a", trace.WithInstrumentationVersion("2")), tp.Tracer("a")} {
		timed(tr, "x", ms)
		timed(tr, "y", ms)
	}
	got := map[string]uint64{}
	for _, r := range tp.Regions() {
		got[r.Scope.Name+r.Scope.Version+" "+r.Name] = r.Count
	}
	want := map[string]uint64{"a x": 2, "a y": 2, "b x": 1, "b y": 1, "a2 x": 1, "a2 y": 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("regions %v, want %v", got, want)
	}
}

func TestRegionsOrderIsBySelfTime(t *testing.T) {
	tp := wrapSDK(t)
	tr := tp.Tracer("")
	for _, d := range []int{2, 5, 1, 4} {
		timed(tr, fmt.Sprint(d), time.Duration(d)*ms)
	}
	var names string
	for _, r := range tp.Regions() {
		names += r.Name
	}
	if names != "5421" {
		t.Errorf("order %s, want 5421", names)
	}
}

func TestRenamedSpanCountsUnderItsLastName(t *testing.T) {
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		sdk, _ := newRecorded(sdktrace.WithSampler(sampler))
		tp := wrap(t, sdk)
		_, s := tp.Tracer("").Start(context.Background(), "first")
		s.SetName("second")
		s.SetName("last")
		s.End()
		s.SetName("after the end")
		regions := tp.Regions()
		if len(regions) != 1 || regions[0].Name != "last" || regions[0].Count != 1 {
			t.Errorf("%s: regions %+v, want one span of last", sampler.Description(), regions)
		}
	}
}

func TestStatusFollowsTheSDKsRules(t *testing.T) {
	tp := wrapSDK(t)
	for _, c := range []struct {
		set  []codes.Code
		want uint64
	}{
		{nil, 0},
		{[]codes.Code{codes.Error}, 1},
		{[]codes.Code{codes.Error, codes.Unset}, 1},
		{[]codes.Code{codes.Error, codes.Ok}, 0},
		{[]codes.Code{codes.Ok, codes.Error}, 0},
	} {
		name := fmt.Sprint(c.set)
		ctx, s := tp.Tracer("").Start(context.Background(), name)
		r := spans.SpanFromContext(ctx)
		for _, code := range c.set {
			s.SetStatus(code, "")
		}
		s.End()
		s.SetStatus(codes.Error, "after the end")
		if got := regionOf(t, tp, name).Errors; got != c.want {
			t.Errorf("%s: %d errors, want %d", name, got, c.want)
		}
		if r.Failed() != (c.want == 1) {
			t.Errorf("%s: Failed() = %t after the end", name, r.Failed())
		}
	}
}

func TestWithMaxRegionsPutsTheRestUnderOther(t *testing.T) {
	tp := wrapSDK(t, spans.WithMaxRegions(3))
	tr := tp.Tracer("scope")
	for i := range 10 {
		timed(tr, fmt.Sprint("name ", i), ms)
		timed(tr, fmt.Sprint("name ", i), ms)
	}
	timed(tp.Tracer("another scope"), "name 0", ms)
	if got := len(tp.Regions()); got != 4 {
		t.Errorf("%d regions, want 3 and other", got)
	}
	if got := regionOf(t, tp, "other").Count; got != 15 {
		t.Errorf("other has %d spans, want 15", got)
	}
	if got := tp.Dropped().RegionsFull; got != 15 {
		t.Errorf("RegionsFull = %d, want 15", got)
	}
	if got := regionOf(t, tp, "name 2").Count; got != 2 {
		t.Errorf("a region from before has %d spans, want 2", got)
	}
}

func TestSetRecordingOffAndOn(t *testing.T) {
	sdk, ended := newRecorded()
	h := &recordingHook{}
	tp := wrap(t, sdk, spans.WithHook(h))
	tr := tp.Tracer("")
	ctx := context.Background()

	ctxA, a := tr.Start(ctx, "a", at(0))
	tp.SetRecording(false)
	ctxB, b := tr.Start(ctxA, "b")
	if r := spans.SpanFromContext(ctxB); r != nil {
		t.Errorf("a span started while recording is off has region %q", r.Name())
	}
	b.SetName("renamed")
	b.SetStatus(codes.Error, "")
	tp.SetRecording(true)
	_, c := tr.Start(ctxB, "c", at(0)) // its parent has no region: a session of its own
	c.End(at(ms))
	b.End()
	a.End(at(2 * ms)) // started while it was on

	if got := fmt.Sprint(h.names()); got != "[start a start c end c after c end a after a]" {
		t.Errorf("hooks saw %s", got)
	}
	for name, want := range map[string]uint64{"a": 1, "b": 0, "renamed": 0, "c": 1} {
		if got := regionOf(t, tp, name).Count; got != want {
			t.Errorf("region %s has %d spans, want %d", name, got, want)
		}
	}
	if got := len(stored(t, tp)); got != 2 {
		t.Errorf("%d sessions, want 2", got)
	}
	if got := len(ended.Ended()); got != 3 {
		t.Errorf("%d spans have reached the SDK, want 3", got)
	}
}

func TestOptionsOutOfRangeAreHandledAndReplaced(t *testing.T) {
	handled.take()
	store := &mapStore{}
	tp := wrap(t, noop.NewTracerProvider(), spans.WithStore(store), spans.WithMaxRegions(0),
		spans.WithMaxSessionSpans(-1), spans.WithQueueSize(1e6+1), spans.WithHook(nil))
	errs := handled.take()
	if len(errs) != 1 || !errors.Is(errs[0], spans.ErrConfig) {
		t.Fatalf("handled %v, want one error that wraps ErrConfig", errs)
	}
	for _, part := range []string{"max regions 0", "max session spans -1", "queue size 1000001", "hook 0"} {
		if !strings.Contains(errs[0].Error(), part) {
			t.Errorf("the error %q does not say %q", errs[0], part)
		}
	}
	timed(tp.Tracer(""), "a", ms)
	if got := len(stored(t, tp)); got != 1 || tp.Store() != spans.Store(store) {
		t.Errorf("%d sessions in %T, want 1 in the store that was given", got, tp.Store())
	}
}

func TestRegionsConcurrentSafe(t *testing.T) {
	tp := wrapSDK(t, spans.WithMaxRegions(50))
	const goroutines, each = 8, 300
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			tr := tp.Tracer(fmt.Sprint("scope ", g%3))
			for i := range each {
				_, s := tr.Start(context.Background(), fmt.Sprint("name ", i%40), at(0))
				if i%7 == 0 {
					s.SetName(fmt.Sprint("renamed ", i%5))
				}
				if i%50 == 0 {
					tp.Regions()
				}
				s.End(at(ms))
			}
		})
	}
	wg.Wait()
	var count uint64
	var total time.Duration
	for _, r := range tp.Regions() {
		count += r.Count
		total += r.Total
	}
	if count != goroutines*each || total != goroutines*each*ms {
		t.Errorf("%d spans of %v, want %d of %v", count, total, goroutines*each, goroutines*each*ms)
	}
	if got, want := tp.Dropped().RegionsFull, regionOf(t, tp, "other").Count; got != want || got == 0 {
		t.Errorf("RegionsFull = %d, want the %d of other", got, want)
	}
}
