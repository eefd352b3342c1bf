package replay

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/replay/infer"
	"github.com/otelprof/otelprof/internal/replay/model"
	"github.com/otelprof/otelprof/internal/replay/trace"
)

// loops records a goroutine that computes for 2 ms in a span, 3 ms outside of one, and waits for 5
// ms, so often.
func loops(t *testing.T, n int) *trace.Recording {
	t.Helper()
	const ms = 1_000_000
	b := trace.NewRecorder(0, 2)
	b.Running(0, 1)
	at := int64(0)
	for i := range n {
		b.Open(at, 1, uint64(i+1), 0, trace.Region{Name: "work"})
		at += 2 * ms
		b.Close(at, 1, uint64(i+1))
		at += 3 * ms
		b.Visit(at, 1, "done")
		b.Wait(at, 1, 1)
		at += 5 * ms
		b.Ready(at, 1, -1)
		b.Start(at, 1, 0)
	}
	return recorded(t, b, at)
}

func TestSplit(t *testing.T) {
	r := loops(t, 400)
	visits := func(r *trace.Recording) (n int) {
		for _, e := range r.Events {
			if e.Kind == trace.EvVisit {
				n++
			}
		}
		return n
	}
	for _, n := range []int{0, 1, 2, 5, 7} {
		windows := slices.Collect(r.Windows(n))
		if len(windows) != max(1, n) {
			t.Fatalf("Windows(%d) gives %d windows", n, len(windows))
		}
		all, end := 0, r.Start
		for i, w := range windows {
			all += visits(w)
			if w.Start != end {
				t.Errorf("Windows(%d): window %d begins at %d, want %d", n, i, w.Start, end)
			}
			end = w.End
			base, changed := Predict(w, "done", Speedup{trace.Region{Name: "work"}, 0.5})
			if math.Abs(base/10e6-1) > 0.01 || math.Abs(changed/9e6-1) > 0.01 {
				t.Errorf("Windows(%d): window %d: period %v, and %v if work is 50 %% faster; want 10 and 9 ms", n, i, base, changed)
			}
		}
		if end != r.End || all != visits(r) {
			t.Errorf("Windows(%d): windows end at %d with %d visits, want %d and %d", n, end, all, r.End, visits(r))
		}
	}
}

// TestSplitInside cuts where a span is open, so that its rest belongs to its region.
func TestSplitInside(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	b.Open(10, 1, 1, 0, trace.Region{Name: "whole"})
	b.Visit(900, 1, "done")
	b.Close(990, 1, 1)
	r := recorded(t, b, 1000)
	for i, w := range slices.Collect(r.Windows(2)) {
		p := infer.NewProgram(w, true)
		var own int64
		for _, o := range p.Lists[0].Ops {
			if o.Kind == model.OpRun && len(p.Sets[o.Set]) > 0 {
				own += o.D
			}
		}
		if own != 490 {
			t.Errorf("window %d: %d ns in the span, want 490", i, own)
		}
	}
}

// TestSplitKeepsReasons cuts while a goroutine waits: the next window knows where and why.
func TestSplitKeepsReasons(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	b.Running(0, 2)
	b.Wait(100, 2, 7)
	b.R.Events[len(b.R.Events)-1].Arg = trace.WaitReceive
	site := b.R.Events[len(b.R.Events)-1].Site
	r := recorded(t, b, 1000)
	for i, w := range slices.Collect(r.Windows(3))[1:] {
		n := slices.IndexFunc(w.Events, func(e trace.Event) bool { return e.Kind == trace.EvExists && e.Arg == trace.StateWaiting })
		if n < 0 || w.Events[n].Ref != trace.WaitReceive || w.Events[n].Site != site {
			t.Errorf("window %d begins with %+v, want a goroutine that waits to receive at site %d", i+1, w.Events, site)
		}
	}
}

// TestWindowsShareRequests: which spans are requests is found once for all windows, as for the
// whole, and anew for a variant with other spans or progress points.
func TestWindowsShareRequests(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	for i := range uint64(40) {
		at := int64(i) * ms
		b.Open(at, 1, 3*i+1, 0, trace.Region{Name: "request"})
		b.Open(at+1, 1, 3*i+2, 3*i+1, trace.Region{Name: "call"})
		b.Open(at+2, 1, 3*i+3, 0, trace.Region{Name: "served"})
		b.Close(at+3, 1, 3*i+3)
		b.Close(at+4, 1, 3*i+2)
		b.Close(at+5, 1, 3*i+1)
		b.Visit(at+6, 1, "done")
	}
	whole := recorded(t, b, 40*ms)
	for i := range whole.Spans {
		if whole.Spans[i].ID = uint64(i + 1); i%3 == 2 { // what is served is below the call
			whole.Spans[i].Remote = uint64(i)
		}
	}
	type found struct {
		Points  []model.PointInfo
		PointOf []int32
		Parents map[uint64]int32
	}
	in := func(r *trace.Recording) found {
		p := model.Program{Rec: r}
		p.FindPoints()
		return found{p.Points, p.PointOf, r.RemoteParents()}
	}
	windows := slices.Collect(whole.Windows(4))
	first := in(windows[0])
	if len(first.Points) != 2 || len(first.Parents) != 40 {
		t.Fatalf("%d progress points and %d remote parents, want 2 and 40", len(first.Points), len(first.Parents))
	}
	agree := func(name string, of, window *trace.Recording) {
		t.Helper()
		if diff := cmp.Diff(in(of), in(window)); diff != "" {
			t.Errorf("%s (-whole +window):\n%s", name, diff)
		}
	}
	for _, w := range windows {
		agree("a window", whole, w)
		if &in(w).PointOf[0] != &first.PointOf[0] {
			t.Error("found anew for a window, want once for all")
		}
	}
	other, variant := *whole, *windows[1]
	other.Spans = slices.Clone(whole.Spans)
	for i := range other.Spans {
		other.Spans[i].Remote = 0
	}
	variant.Spans = other.Spans
	agree("other spans", &other, &variant)
	other, variant = *whole, *windows[2]
	if n := Count(&other, "call"); n != 40 || Count(&variant, "call") != 10 {
		t.Errorf("%d calls in all, want 40, and 10 in a window", n)
	}
	agree("another progress point", &other, &variant)
	agree("a window behind the variants", whole, windows[0])
}

// TestCoroutinesAreThePrograms: stacks of iter.Pull and of calls from C begin in the runtime.
func TestCoroutinesAreThePrograms(t *testing.T) {
	for outermost, want := range map[string]bool{"runtime.bgsweep": true, "runtime.corostart": false, "runtime.cgocallbackg": false, "runtime.main": false} {
		s := trace.Site{Frames: []trace.Frame{{Func: "runtime.chanrecv1"}, {Func: "main.values"}, {Func: outermost}}}
		if got := trace.Classify(s)[trace.OfRuntime]; got != want {
			t.Errorf("a stack that begins with %s is the runtime's: %t, want %t", outermost, got, want)
		}
	}
}

// TestTasksOfSpans leaves out tasks that the SDK makes of spans, but not others, nor what the
// program counts.
func TestTasksOfSpans(t *testing.T) {
	b := trace.NewRecorder(0, 1)
	b.Running(0, 1)
	for i := range 3 {
		at := int64(100 * i)
		b.Open(at, 1, 1, 0, trace.Region{Name: "span"})
		b.Visit(at+1, 1, "span")
		b.Visit(at+2, 1, "task")
		b.Visit(at+3, 1, "done")
		b.Close(at+4, 1, 1)
	}
	r := recorded(t, b, 300)
	r.DropTasks(map[int32]bool{0: true, 1: true}, map[string]bool{})
	if diff := cmp.Diff([]string{"task", "done"}, r.Points); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	renamed := *r
	renamed.Events = slices.Clone(r.Events)
	if renamed.DropTasks(map[int32]bool{0: true}, map[string]bool{"task": true}); len(renamed.Points) != 1 {
		t.Errorf("points %v of a task with the first name of spans that were renamed, want done alone", renamed.Points)
	}
	for point, want := range map[string]int{"task": 3, "done": 3, "span": 3} { // the span's own ends
		if got := visitsOf(r, point); got != want {
			t.Errorf("%s: %d visits, want %d", point, got, want)
		}
	}
}
