package pmuattrs

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

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
	measure := func(d time.Duration) []EventSummary {
		const rounds = 20
		s.Reset()
		for range rounds {
			if err := s.Begin(); err != nil {
				t.Fatal(err)
			}
			work(d)
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
	short, long := measure(time.Millisecond), measure(4*time.Millisecond)
	if short[0].Mean <= 0 || long[0].Mean < 2*short[0].Mean {
		t.Errorf("mean of %s: %.0f for 1 ms, %.0f for 4 ms", short[0].Event, short[0].Mean, long[0].Mean)
	}
	var out bytes.Buffer
	if err := errors.Join(WriteSummaries(&out, short), WriteDiff(&out, short, long, "1 ms", "4 ms")); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"##### " + short[0].Event.String(), "| Percentile ", "| 1 ms ", "| 4 ms ", "D-value:"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), text) {
			t.Errorf("output lacks %q:\n%s", text, out.String())
		}
	}
}

// What is of no use is not recorded.
func TestSessionInvalid(t *testing.T) {
	s := newSession(t)
	if err := s.End(); !errors.Is(err, ErrUnrelated) {
		t.Errorf("End without Begin = %v, want ErrUnrelated", err)
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if err := s.End(); !errors.Is(err, ErrUnrelated) {
		t.Errorf("second End = %v, want ErrUnrelated", err)
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
