package viewer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/otelprof/otelprof/spans"
	"github.com/otelprof/otelprof/spans/schedule"
)

// fakeSchedule has two regions of one name.
type fakeSchedule struct {
	err   error
	taken int
}

func (f *fakeSchedule) Snapshot(context.Context) (*schedule.Report, error) {
	if f.taken++; f.err != nil {
		return nil, f.err
	}
	split := schedule.Split{Running: 3, Runnable: 2, Blocked: map[schedule.Reason]time.Duration{"sync": 1}}
	return &schedule.Report{
		Taken: testStart, Window: 10 * time.Second, Partial: 4,
		Regions: []schedule.Region{
			{Scope: "sql", Name: "GET /items/{id}", Count: 7, Total: split, Self: split},
			{Scope: "http", Name: "GET /items/{id}", Count: 8, Total: split, Self: split},
			{Scope: "sql", Name: "b", Count: 9, Total: split, Self: split},
		},
	}, nil
}

func TestRegionSchedule(t *testing.T) {
	f := &fakeSchedule{}
	h := testHandler(t, nil)
	h.schedule = f
	const path = "/api/v1/regions/schedule?name=GET%20%2Fitems%2F%7Bid%7D"
	got := decode[scheduleJSON](t, ask(t, h, "GET", path, ""), 200)
	if len(got.Regions) != 2 || got.WindowNs != 10e9 || got.Partial != 4 || !got.Taken.Equal(testStart) {
		t.Errorf("schedule %+v, want both regions of the name", got)
	}
	got = decode[scheduleJSON](t, ask(t, h, "GET", path+"&scope=http", ""), 200)
	if len(got.Regions) != 1 || got.Regions[0].Count != 8 || got.Regions[0].Self.Blocked["sync"] != 1 {
		t.Errorf("schedule %+v, want the region of scope http", got)
	}
	got = decode[scheduleJSON](t, ask(t, h, "GET", "/api/v1/regions/schedule?name=none", ""), 200)
	if got.Regions == nil || len(got.Regions) != 0 {
		t.Errorf("schedule %+v, want an empty list", got)
	}
	if f.taken != 1 {
		t.Errorf("%d snapshots were taken for three answers at the same time, want 1", f.taken)
	}
}

func TestRegionScheduleErrors(t *testing.T) {
	const path = "/api/v1/regions/schedule?name=b"
	h := testHandler(t, nil)
	errorOf(t, ask(t, h, "GET", path, ""), 404)
	h.schedule = &fakeSchedule{err: schedule.ErrNotRecording}
	if got := errorOf(t, ask(t, h, "GET", path, ""), 409); !strings.Contains(got, "not recording") {
		t.Errorf("error %q, want one about recording", got)
	}
	h.schedule = &fakeSchedule{err: errors.New("schedule: trace: broken")}
	errorOf(t, ask(t, h, "GET", path, ""), 503)
}

// TestRegionStates checks that the spans' own attributes are summed, and by region alone.
func TestRegionStates(t *testing.T) {
	states := func(running, blocked int64, more ...attribute.KeyValue) []attribute.KeyValue {
		return append(more, attribute.Int64("otelprof.running_ns", running), attribute.Int64("otelprof.runnable_ns", 1), attribute.Int64("otelprof.blocked_ns", blocked))
	}
	shop := instrumentation.Scope{Name: "shop", Version: "2"}
	store := fakeStore{{ID: testID(0), Spans: []spans.SpanRecord{
		{Name: "a", Scope: shop, Attributes: states(10, 100, attribute.String("x", "y"))},
		{Name: "a", Scope: shop, Attributes: states(20, -5)}, // no time is negative
		{Name: "a", Scope: shop},
		{Name: "a", Scope: shop, Attributes: []attribute.KeyValue{attribute.String("otelprof.running_ns", "7")}},
		{Name: "a", Scope: instrumentation.Scope{Name: "other"}, Attributes: states(1000, 1000)},
		{Name: "b", Scope: shop, Attributes: states(1000, 1000)},
	}}}
	got := statesOf(store, regionKey{"shop", "2", "a"})
	if want := (statesJSON{Spans: 2, RunningNs: 30, RunnableNs: 2, BlockedNs: 100}); got == nil || *got != want {
		t.Errorf("states %+v, want %+v", got, want)
	}
	if got := statesOf(store, regionKey{"shop", "1", "a"}); got != nil {
		t.Errorf("states of another version: %+v, want none", got)
	}
}
