package pmuattrs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelprof/otelprof/spans"
)

func TestHookRegions(t *testing.T) {
	h := fakeHook(t, newFakeThreads([]Event{Cycles, Instructions}, 1000, 2500))
	tr, _ := provide(t, h)
	span(tr, "price")
	span(tr, "price")
	_, s := tr.Start(t.Context(), "GET")
	s.SetName("GET /orders")
	s.End()
	type row struct {
		Scope, Name  string
		Spans        uint64
		Cycles, IPC  float64
		Instructions uint64
	}
	var got []row
	for _, r := range h.Regions() {
		ipc, _ := r.IPC()
		got = append(got, row{r.Scope.Name, r.Name, r.Spans, r.Counts[0].Mean(), ipc, r.Counts[1].Max()})
	}
	want := []row{
		{"test", "GET /orders", 1, 1000, 2.5, 2500},
		{"test", "price", 2, 1000, 2.5, 2500},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Regions() (-want +got):\n%s", diff)
	}
}

func TestRegionIPC(t *testing.T) {
	for _, tt := range []struct {
		events []Event
		want   bool
	}{
		{[]Event{Instructions, Cycles}, true},
		{[]Event{Cycles.WithKernel(), Instructions.WithKernel()}, true},
		{[]Event{Cycles, Instructions.WithKernel()}, false},
		{[]Event{Cycles}, false},
	} {
		h := fakeHook(t, newFakeThreads(tt.events, 10, 10))
		tr, _ := provide(t, h)
		span(tr, "price")
		if ipc, ok := h.Regions()[0].IPC(); ok != tt.want || ok && ipc != 1 {
			t.Errorf("%v: IPC() = %v, %t, want %t", tt.events, ipc, ok, tt.want)
		}
	}
}

// The provider's limit decides which names have histograms of their own, also the names that spans
// get later.
func TestRegionsFollowTheProvidersLimit(t *testing.T) {
	for _, limit := range []int{5, 3000} {
		h := fakeHook(t, newFakeThreads([]Event{Cycles}, 1000))
		tp := spans.WrapTracerProvider(sdktrace.NewTracerProvider(), spans.WithHook(h), spans.WithMaxRegions(limit))
		defer tp.Shutdown(t.Context())
		tr := tp.Tracer("test")
		span(tr, "first")
		for i := range limit + 9 {
			if i%2 == 0 {
				span(tr, fmt.Sprint(i))
				continue
			}
			_, s := tr.Start(t.Context(), "first")
			s.SetName(fmt.Sprint(i))
			s.End()
		}
		all := h.Regions()
		if len(all) != limit+1 {
			t.Fatalf("%d regions, want %d", len(all), limit+1)
		}
		if other := all[0]; other.Name != "other" || other.Scope.Name != "" || other.Spans != 10 {
			t.Errorf("first region %q with %d spans, want other with 10", other.Name, other.Spans)
		}
	}
}
