package pmuattrs

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// newSession is a session of what this machine has, on a thread of the test's own.
func newSession(t testing.TB, events ...Event) *Session {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s, err := NewSession(events...)
	if errors.Is(err, ErrNotSupported) {
		testutil.Lacks(t, "USAGE", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSession(t *testing.T) {
	s := newSession(t)
	measure := func(steps uint64) []EventSummary {
		const rounds = 20
		s.Reset()
		for range rounds {
			if err := s.Begin(); err != nil {
				t.Fatal(err)
			}
			perftest.Spin(steps) // by steps, not by the clock: others may have the processor meanwhile
			if err := s.End(); err != nil {
				t.Error(err)
			}
		}
		all := s.Summaries()
		if len(all) != len(s.Events()) || all[0].Count != rounds {
			t.Fatalf("Summaries() = %d of %d values, want %d of %d", len(all), all[0].Count, len(s.Events()), rounds)
		}
		return all
	}
	short, long := measure(1e6), measure(8e6)
	if short[0].Mean <= 0 || long[0].Mean < 2*short[0].Mean {
		t.Errorf("mean of %s: %.0f for some work, %.0f for eight times as much", short[0].Event, short[0].Mean, long[0].Mean)
	}
	var out bytes.Buffer
	if err := errors.Join(s.WriteSummaries(&out), WriteDiff(&out, short, long, "one", "eight")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"##### " + short[0].Event.String(), "| Percentile ", "| one ", "| eight ", "D-value:"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), text) {
			t.Errorf("output lacks %q:\n%s", text, out.String())
		}
	}
}

// Snapshots of two times are merged, and do not change with what is recorded after them.
func TestSessionSnapshots(t *testing.T) {
	s := newSession(t)
	measure := func(rounds int) []EventCounts {
		s.Reset()
		for range rounds {
			if err := s.Begin(); err != nil {
				t.Fatal(err)
			}
			perftest.Spin(1e5)
			if err := s.End(); err != nil {
				t.Error(err)
			}
		}
		return s.Snapshots()
	}
	first, second := measure(3), measure(4)
	if len(first) != len(s.Events()) || len(second) != len(first) {
		t.Fatalf("%d and %d snapshots, want one for each of %d events", len(first), len(second), len(s.Events()))
	}
	for i, e := range s.Events() {
		a, b := first[i], second[i]
		if a.Event != e || a.Count() != 3 || b.Count() != 4 {
			t.Errorf("%s: snapshots of %s with %d and %d values, want 3 and 4", e, a.Event, a.Count(), b.Count())
		}
		most := max(a.Max(), b.Max())
		if err := a.Merge(b.Snapshot); err != nil || a.Count() != 7 || a.Percentile(100) != most {
			t.Errorf("%s: merged: %v, %d values, largest %d; want 7, %d", e, err, a.Count(), a.Percentile(100), most)
		}
		if summary := s.Summaries()[i]; summary.Count != 4 || summary.Max != b.Max() {
			t.Errorf("%s: summary of %d values up to %d, want 4 up to %d", e, summary.Count, summary.Max, b.Max())
		}
	}
}

// What is of no use is not recorded.
func TestSessionInvalid(t *testing.T) {
	s := newSession(t)
	if err := s.End(); !errors.Is(err, errUnrelated) {
		t.Errorf("End without Begin = %v, want errUnrelated", err)
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if err := s.End(); !errors.Is(err, errUnrelated) {
		t.Errorf("second End = %v, want errUnrelated", err)
	}
	if got := s.Summaries()[0].Count; got != 1 || s.Invalid() != 2 {
		t.Errorf("%d recorded, %d invalid, want 1, 2", got, s.Invalid())
	}
	s.Reset()
	if got := s.Summaries()[0].Count; got != 0 || s.Invalid() != 0 {
		t.Errorf("%d recorded, %d invalid after Reset", got, s.Invalid())
	}
}

func TestNewSessionRejects(t *testing.T) {
	if _, err := NewSession(Cycles, Cycles); !errors.Is(err, ErrEvent) {
		t.Errorf("NewSession(Cycles, Cycles) = %v, want ErrEvent", err)
	}
	if _, err := NewSession(CPUTime); !errors.Is(err, ErrEvent) {
		t.Errorf("NewSession(CPUTime) = %v, want ErrEvent", err)
	}
}

func TestSessionAllocs(t *testing.T) {
	s := newSession(t)
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Begin(), s.End() }); n != 0 {
		t.Errorf("%v allocations for Begin and End, want 0", n)
	}
}

func BenchmarkSession(b *testing.B) {
	s := newSession(b)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = s.Begin(), s.End()
	}
}
