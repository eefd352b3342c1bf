package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/exp/trace"
	"pgregory.net/rapid"
)

// A script makes the events of goroutine 1, one a time unit.
type script struct {
	t  interface{ Fatal(args ...any) }
	a  *analysis
	at trace.Time
}

func newScript(t interface{ Fatal(args ...any) }) *script {
	return &script{t: t, a: newAnalysis(), at: 1000}
}

func play[T trace.EventDetails](s *script, g trace.GoID, kind trace.EventKind, details T) {
	e, err := trace.MakeEvent(trace.EventConfig[T]{
		Time: s.at, Kind: kind, Goroutine: g, Proc: trace.NoProc, Thread: trace.NoThread, Details: details,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.a.event(&e)
}

func (s *script) state(from, to trace.GoState, reason string) {
	transition := trace.MakeGoStateTransition(1, from, to)
	transition.Reason = reason
	play(s, trace.NoGoroutine, trace.EventStateTransition, transition)
}

func (s *script) mark(g trace.GoID, text string) {
	play(s, g, trace.EventLog, trace.Log{Category: "test", Message: text})
}

func (s *script) assist(kind trace.EventKind) {
	play(s, 1, kind, trace.Range{Name: "GC mark assist", Scope: trace.MakeResourceID(trace.GoID(1))})
}

func TestClasses(t *testing.T) {
	s := newScript(t)
	s.state(trace.GoUndetermined, trace.GoRunning, "")
	s.mark(1, "otelprof+1 0 0 0 all")
	s.at++
	s.state(trace.GoRunning, trace.GoRunnable, "preempted")
	s.at += 2
	s.state(trace.GoRunnable, trace.GoRunning, "")
	s.assist(trace.EventRangeBegin)
	s.at += 3
	s.state(trace.GoRunning, trace.GoWaiting, "GC mark assist wait for work")
	s.at += 4
	s.state(trace.GoWaiting, trace.GoRunnable, "")
	s.at += 5
	s.state(trace.GoRunnable, trace.GoRunning, "")
	s.at += 6
	s.assist(trace.EventRangeEnd)
	s.at += 7
	s.state(trace.GoRunning, trace.GoWaiting, "a reason to come")
	s.at += 8
	s.state(trace.GoWaiting, trace.GoRunnable, "")
	s.state(trace.GoRunnable, trace.GoRunning, "")
	s.state(trace.GoRunning, trace.GoSyscall, "")
	s.at += 9
	s.state(trace.GoSyscall, trace.GoRunning, "")
	s.state(trace.GoRunning, trace.GoWaiting, "preempted")
	s.at += 10
	s.state(trace.GoWaiting, trace.GoRunnable, "")
	s.state(trace.GoRunnable, trace.GoRunning, "")
	s.mark(1, "otelprof-1")
	s.at += 11
	s.mark(1, "somebody else's")
	report := s.a.finish()
	want := Split{Running: 1 + 7, Runnable: 2 + 5 + 10, Blocked: blocked("gc", 3+4+6, "other", 8, "syscall", 9)}
	if diff := cmp.Diff([]Region{{Scope: "test", Name: "all", Count: 1, Total: want, Self: want}}, report.Regions); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
	if report.Window != 66 {
		t.Errorf("window %d, want 66", report.Window)
	}
}

// Each generation of a trace has the state of each goroutine once more, without a reason: a wait
// over it is one wait, for what it began for.
func TestWaitOverGenerations(t *testing.T) {
	s := newWaitScript(t)
	s.state(trace.GoUndetermined, trace.GoRunning, "")
	s.mark(1, "otelprof+1 0 0 0 waits")
	s.mark(2, "otelprof+2 0 0 0 sends")
	s.state(trace.GoRunning, trace.GoWaiting, "chan receive")
	s.at += 5
	s.state(trace.GoWaiting, trace.GoWaiting, "")
	s.at += 7
	transition := trace.MakeGoStateTransition(1, trace.GoWaiting, trace.GoRunnable)
	play(s, 2, trace.EventStateTransition, transition)
	s.state(trace.GoRunnable, trace.GoRunning, "")
	s.mark(1, "otelprof-1")
	s.mark(2, "otelprof-2")
	report := s.a.finish()
	got := map[string]Region{}
	for _, r := range report.Regions {
		got[r.Name] = r
	}
	if diff := cmp.Diff(blocked("chan receive", 12), got["waits"].Self.Blocked); diff != "" {
		t.Errorf("blocked (-want +got):\n%s", diff)
	}
	if got["sends"].Awaited != 12 {
		t.Errorf("awaited %d, want all 12", got["sends"].Awaited)
	}
	if diff := cmp.Diff(map[string]int64{"waits/chan receive": 12}, waited(s.a.offCPU())); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
}

func TestGoroutineEndsBeforeItsRegion(t *testing.T) {
	s := newScript(t)
	s.state(trace.GoUndetermined, trace.GoRunning, "")
	s.mark(1, "otelprof+1 0 0 0 left open")
	s.state(trace.GoRunning, trace.GoNotExist, "")
	s.mark(2, "otelprof-1")
	// The memory of a region whose end was not recorded is used again.
	s.mark(2, "otelprof+7 0 0 0 lost")
	s.mark(2, "otelprof+7 0 0 0 next")
	s.mark(2, "otelprof-7")
	report := s.a.finish()
	if report.Moved != 1 || report.Partial != 1 || report.Open != 0 || len(report.Regions) != 1 || report.Regions[0].Name != "next" {
		t.Errorf("report %+v, want one moved, one partial, and the region next", report)
	}
}

// A goroutine that ends what others have begun holds the next one up by what it does at the end of
// one, if that is open by then and soon ends.
func TestHoldsUp(t *testing.T) {
	s := newScript(t)
	end := func(by trace.GoID, id int, after trace.Time) {
		s.at += after
		s.mark(by, fmt.Sprintf("otelprof-%d", id))
	}
	for i, name := range []string{"a", "b", "c", "own"} {
		s.mark(trace.GoID(10+i), fmt.Sprintf("otelprof+%d 0 0 0 %s", i+1, name))
	}
	end(1, 1, 100) // a
	end(1, 2, 5)   // b, which a's tenth of 100 would have held up
	end(1, 3, 50)  // c comes too late for that of b
	end(13, 4, 1)  // where it began
	s.mark(10, "otelprof+5 0 0 0 c")
	end(1, 5, 1) // it began behind the one before
	end(2, 6, 0) // began before the window
	report := s.a.finish()
	want := []Region{{Scope: "test", Name: "a", Count: 1, HoldsUp: 1}, {Scope: "test", Name: "b", Count: 1}, {Scope: "test", Name: "c", Count: 2}}
	if diff := cmp.Diff(want, report.Moves); diff != "" || report.Moved != 4 {
		t.Errorf("%d moved, want 4 (-want +got):\n%s", report.Moved, diff)
	}
}

// A goroutine that does several things at a time ends one while later ones are open.
func TestInterleaved(t *testing.T) {
	s := newScript(t)
	for _, mark := range []string{"+1 0 0 0 outer", "+2 0 0 0 inner", "-2", "-1", "+1 0 0 0 first", "+2 0 0 0 second", "-1", "-2"} {
		s.mark(1, "otelprof"+mark)
	}
	for _, r := range s.a.finish().Regions {
		want := uint64(0)
		if r.Name == "first" {
			want = 1
		}
		if r.Interleaved != want || r.Count != 1 {
			t.Errorf("%d of %d %q are interleaved, want %d of 1", r.Interleaved, r.Count, r.Name, want)
		}
	}
}

func TestRenamed(t *testing.T) {
	s := newScript(t)
	s.mark(1, "otelprof+1 0 0 0 GET")
	s.mark(1, "otelprof-1 GET /cart/{id}")
	if report := s.a.finish(); len(report.Regions) != 1 || report.Regions[0].Name != "GET /cart/{id}" {
		t.Errorf("report %+v, want one region of the last name", report)
	}
}

func TestNamesAreBounded(t *testing.T) {
	s := newScript(t)
	for i := range maxNames + 10 {
		s.mark(1, fmt.Sprintf("otelprof+1 0 0 0 name %d", i))
		s.mark(1, "otelprof-1")
	}
	report := s.a.finish()
	var others uint64
	for _, r := range report.Regions {
		if r.Name == "other" {
			others = r.Count
		}
	}
	if len(report.Regions) != maxNames+1 || others != 10 || report.Folded != 10 {
		t.Errorf("%d regions, %d other, %d folded: want %d, 10, 10", len(report.Regions), others, report.Folded, maxNames+1)
	}
}

// TestSelfTimes opens and closes regions in any order, and gives each unit of time to the one that
// was opened last, and to all that are open.
func TestSelfTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScript(t)
		s.state(trace.GoUndetermined, trace.GoRunning, "")
		type model struct{ total, self int64 }
		models := map[int]*model{}
		var open []int
		want := map[string]model{}
		for id := 1; id < 30; id++ {
			if rapid.Bool().Draw(t, "start") {
				s.mark(1, fmt.Sprintf("otelprof+%x 0 0 0 r%d", id, id))
				models[id] = &model{}
				open = append(open, id)
			} else if len(open) > 0 {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "end")
				s.mark(1, fmt.Sprintf("otelprof-%x", open[i]))
				want[fmt.Sprintf("r%d", open[i])] = *models[open[i]]
				open = append(open[:i], open[i+1:]...)
			}
			d := rapid.Int64Range(0, 10).Draw(t, "time")
			s.at += trace.Time(d)
			for i, id := range open {
				models[id].total += d
				if i == len(open)-1 {
					models[id].self += d
				}
			}
		}
		got := map[string]model{}
		for _, r := range s.a.finish().Regions {
			got[r.Name] = model{int64(r.Total.Running), int64(r.Self.Running)}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(model{})); diff != "" {
			t.Fatalf("times (-want +got):\n%s", diff)
		}
	})
}

func TestAnalyzeForeign(t *testing.T) {
	for _, text := range []string{"", "go 1.", "no trace", "go 1.26 trace\x00\x00\x00 and no more"} {
		if report, err := Analyze(t.Context(), strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), "schedule: trace:") {
			t.Errorf("Analyze(%q) = %v, %v: want an error", text, report, err)
		}
	}
}

func blocked(pairs ...any) map[Reason]time.Duration {
	m := map[Reason]time.Duration{}
	for i := 0; i < len(pairs); i += 2 {
		m[Reason(pairs[i].(string))] = time.Duration(pairs[i+1].(int))
	}
	return m
}
