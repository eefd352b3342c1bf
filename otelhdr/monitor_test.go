package otelhdr

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// At the start of a synctest bubble it is midnight UTC of 2000-01-01.
const wantMonitor = `00:00:01.000 | checkout: Total=2, Overflow=0, Mean=15.0, P0=10, P25=10, P50=10, P90=20, P95=20, P99=20, P999=20, P100=20
00:00:02.000 | checkout: Total=0, Overflow=0, Mean=0.0, P0=0, P25=0, P50=0, P90=0, P95=0, P99=0, P999=0, P100=0
00:00:02.500 | checkout: Total=1, Overflow=0, Mean=1,234.0, P0=1,234, P25=1,234, P50=1,234, P90=1,234, P95=1,234, P99=1,234, P999=1,234, P100=1,234
`

func TestMonitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Local = time.UTC
		c := mustNewConcurrent(t)
		c.Record(7) // before
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		done := make(chan error)
		go func() { done <- Monitor(ctx, &out, "checkout", 0, c) }()
		synctest.Wait()
		c.Record(10)
		c.Record(20)
		time.Sleep(2500 * time.Millisecond)
		c.Record(1234)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Monitor = %v, want nil", err)
		}
		if out.String() != wantMonitor {
			t.Errorf("Monitor wrote\n%swant\n%s", out.String(), wantMonitor)
		}
	})
}

func TestMonitorQuietEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		var out bytes.Buffer
		if err := Monitor(ctx, &out, "", time.Second, mustNewConcurrent(t)); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != 1 {
			t.Errorf("%d lines, want 1 and none for the empty rest:\n%s", got, out.String())
		}
	})
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestMonitorWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("full")
		if err := Monitor(t.Context(), failingWriter{want}, "", time.Second, mustNewConcurrent(t)); !errors.Is(err, want) {
			t.Errorf("Monitor = %v, want %v", err, want)
		}
	})
}

func TestMonitorAllocs(t *testing.T) {
	c := mustNewConcurrent(t)
	m := monitor{w: new(bytes.Buffer), source: c, prev: c.Snapshot(nil), cur: new(Snapshot)}
	now := time.Now()
	line := func() {
		c.Record(7)
		m.w.(*bytes.Buffer).Reset()
		if err := m.print(now); err != nil {
			t.Fatal(err)
		}
	}
	line()
	line()
	if n := testing.AllocsPerRun(20, line); n != 0 {
		t.Errorf("a line allocates %v times, want 0", n)
	}
}

func TestScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := mustNew(t), mustNewConcurrent(t)
		r := c.Recorder()
		defer r.Close()
		func() {
			defer h.Time(time.Nanosecond).Stop()
			defer h.Time(100 * time.Nanosecond).Stop()
			defer c.Time(time.Microsecond).Stop()
			defer r.Time(time.Millisecond).Stop()
			time.Sleep(1004*time.Millisecond + 1999)
		}()
		for _, tt := range []struct {
			s        *Snapshot
			min, max uint64
		}{{h.Snapshot(nil), 10_040_019, 1_004_001_999}, {c.Snapshot(nil), 1004, 1_004_001}} {
			if tt.s.Count() != 2 || tt.s.Min() != tt.min || tt.s.Max() != tt.max {
				t.Errorf("count, min, max = %d, %d, %d, want 2, %d, %d", tt.s.Count(), tt.s.Min(), tt.s.Max(), tt.min, tt.max)
			}
		}
		scope := h.Time(0)
		time.Sleep(5 * time.Nanosecond)
		if d := scope.Stop(); d != 5 || h.Snapshot(nil).Min() != 5 {
			t.Errorf("Stop() = %v, recorded %d, want 5 ns", d, h.Snapshot(nil).Min())
		}
		if d := (Scope{}).Stop(); d != 0 {
			t.Errorf("Stop of the zero Scope = %v, want 0", d)
		}
	})
}

func TestScopeAllocs(t *testing.T) {
	h, c := mustNew(t, WithRange(0, 0)), mustNewConcurrent(t, WithRange(0, 0))
	if n := testing.AllocsPerRun(100, func() {
		defer h.Time(time.Nanosecond).Stop()
		defer c.Time(time.Nanosecond).Stop()
	}); n != 0 {
		t.Errorf("a scope allocates %v times, want 0", n)
	}
}
