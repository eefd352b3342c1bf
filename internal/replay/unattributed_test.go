package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/trace"
)

// Each case is what a goroutine with a span, 1, waits 100 for, from 100 to 200, in a window of
// 1000.
// Goroutine 2 has spans, 3 and 4 have none.
func TestWaits(t *testing.T) {
	region := trace.Region{Scope: "shop", Name: "order"}
	for _, tt := range []struct {
		name          string
		all, untold   time.Duration
		before, after func(b *trace.Recorder)
	}{
		{"another goroutine", 100, 100, nil, func(b *trace.Recorder) { b.Ready(200, 1, 2) }},
		{"something outside", 100, 0, nil, func(b *trace.Recorder) { b.Ready(200, 1, -1) }},
		{"an operation that is marked", 100, 0, func(b *trace.Recorder) { b.Operate(99, 1, 'R', 7, 0) }, func(b *trace.Recorder) {
			b.Ready(200, 1, 2)
			b.Start(210, 1, 0)
			b.Operate(220, 1, 'r', 7, 0)
		}},
		{"a select of which a case without marks was taken", 100, 100, func(b *trace.Recorder) { b.Operate(99, 1, 'Y', 0, 0) }, func(b *trace.Recorder) {
			b.Ready(200, 1, 2)
			b.Start(210, 1, 0)
			b.Operate(220, 1, 'l', 8, 0)
		}},
		{"a goroutine that was woken from outside", 100, 0, nil, func(b *trace.Recorder) {
			b.Ready(150, 3, -1)
			b.Start(160, 3, 1)
			b.Ready(200, 1, 3)
		}},
		{"a goroutine that it has woken itself", 100, 0, nil, func(b *trace.Recorder) {
			b.Ready(150, 3, 1)
			b.Start(160, 3, 1)
			b.Ready(200, 1, 3)
		}},
		{"a goroutine that another one has woken", 100, 100, nil, func(b *trace.Recorder) {
			b.Ready(150, 3, 2)
			b.Start(160, 3, 1)
			b.Ready(170, 4, 3)
			b.Start(180, 4, 2)
			b.Ready(200, 1, 4)
		}},
		{"a child that has ended", 100, 0, func(b *trace.Recorder) { b.Open(90, 2, 20, 10, region) }, func(b *trace.Recorder) {
			b.Close(190, 2, 20)
			b.Ready(200, 1, 2)
		}},
		{"a child that began later", 100, 30, nil, func(b *trace.Recorder) {
			b.Open(130, 2, 20, 10, region)
			b.Close(190, 2, 20)
			b.Ready(200, 1, 2)
		}},
		{"a child that has not ended", 100, 100, func(b *trace.Recorder) { b.Open(90, 2, 20, 10, region) }, func(b *trace.Recorder) { b.Ready(200, 1, 2) }},
		{"a child of another one", 100, 100, func(b *trace.Recorder) {
			b.Open(90, 2, 19, 0, region)
			b.Open(90, 2, 20, 19, region)
		}, func(b *trace.Recorder) {
			b.Close(190, 2, 20)
			b.Ready(200, 1, 2)
		}},
		{"a goroutine that it has created, with a child", 100, 0, func(b *trace.Recorder) { b.Create(90, 5, 1) }, func(b *trace.Recorder) {
			b.Start(140, 5, 1)
			b.Open(150, 5, 20, 10, region)
			b.Close(190, 5, 20)
			b.Ready(200, 1, 5)
		}},
		{"what does not come", 0, 0, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := trace.NewRecorder(0, 4)
			b.Running(0, 1)
			b.Running(0, 2)
			b.Waiting(0, 3)
			b.Waiting(0, 4)
			b.Open(10, 1, 10, 0, region)
			b.Open(10, 2, 11, 0, region)
			if tt.before != nil {
				tt.before(b)
			}
			b.Wait(100, 1, 1)
			if tt.after != nil {
				tt.after(b)
			}
			rec := recorded(t, b, 1000)
			if diff := cmp.Diff(trace.Waits{All: tt.all, Untold: tt.untold, Length: 1000}, rec.Waits()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The end of a wait that began before the window is not counted, and what has no spans has no
// waits.
func TestWaitsOfOthers(t *testing.T) {
	b := trace.NewRecorder(0, 4)
	b.Waiting(0, 1)
	b.Running(0, 2)
	b.Waiting(0, 3)
	b.Ready(100, 1, 2)
	b.Start(110, 1, 0)
	b.Open(120, 1, 10, 0, trace.Region{Scope: "shop", Name: "order"})
	b.Ready(130, 3, 2)
	b.Start(140, 3, 1)
	b.Wait(150, 3, 1)
	b.Ready(300, 3, 1)
	rec := recorded(t, b, 1000)
	if diff := cmp.Diff(trace.Waits{Length: 1000}, rec.Waits()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
