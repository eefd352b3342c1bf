package hdrtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/otelhdr"
)

// A fakeMachine has functions of known duration, and a load that comes and goes and slows all of
// them.
type fakeMachine struct {
	clock  time.Duration
	random *rand.Rand
	load   float64
}

func newMachine() *fakeMachine { return &fakeMachine{random: rand.New(rand.NewPCG(1, 2))} }

func (m *fakeMachine) now() time.Duration { return m.clock }

func (m *fakeMachine) takes(d time.Duration) func() {
	return func() {
		m.load = 0.999*m.load + 0.01*m.random.NormFloat64()
		m.clock += time.Duration(float64(d) * math.Exp(m.load+0.1*m.random.NormFloat64()))
	}
}

// A recorder is a test that is not failed.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Log(...any)                        {}
func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }
func (r *recorder) Fatal(args ...any)                 { r.failed = fmt.Sprint(args...) }

func TestComparison(t *testing.T) {
	m := newMachine()
	base := m.takes(100 * time.Microsecond)
	five := Comparison{Judge: otelhdr.Judge{Margin: 0.05}, now: m.now}
	for _, tt := range []struct {
		name              string
		after             func()
		faster, notSlower bool
	}{
		{"a fifth less", m.takes(80 * time.Microsecond), true, true},
		{"the same", m.takes(100 * time.Microsecond), false, true},
		{"a fifth more", m.takes(120 * time.Microsecond), false, false},
		{"no time at all", func() {}, true, true},
	} {
		var faster, notSlower recorder
		five.Faster(&faster, base, tt.after)
		five.NotSlower(&notSlower, base, tt.after)
		if (faster.failed == "") != tt.faster || (notSlower.failed == "") != tt.notSlower {
			t.Errorf("%s: Faster fails with %q, NotSlower with %q", tt.name, faster.failed, notSlower.failed)
		}
	}
}

// TestComparisonSaysWhy checks that a test that fails reports what was found.
func TestComparisonSaysWhy(t *testing.T) {
	m := newMachine()
	var r recorder
	Comparison{now: m.now}.Faster(&r, m.takes(time.Millisecond), m.takes(2*time.Millisecond))
	if !strings.HasPrefix(r.failed, "must be faster: slower: median +") || !strings.HasSuffix(r.failed, "from 100 pairs") {
		t.Errorf("fails with %q", r.failed)
	}
}

// TestComparisonOfTheSame checks that two functions that are alike seldom differ, under a load that
// changes.
func TestComparisonOfTheSame(t *testing.T) {
	m := newMachine()
	f, g := m.takes(time.Millisecond), m.takes(time.Millisecond)
	const rounds = 300
	wrong := 0
	for range rounds {
		j, err := Comparison{Turns: 30, now: m.now}.Run(f, g)
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != otelhdr.Undecided {
			wrong++
		}
	}
	if wrong > 8 { // 3 on average at most
		t.Errorf("%d of %d comparisons tell apart what is alike", wrong, rounds)
	}
}

// TestComparisonRuns runs with the system's clock. It asserts no time: only that both are called
// equally often.
func TestComparisonRuns(t *testing.T) {
	var calls [2]int
	j, err := Comparison{Turns: 8, Turn: 100 * time.Microsecond}.Run(func() { calls[0]++ }, func() { calls[1]++ })
	if err != nil || j.Before != 8 || j.Of != "pairs" {
		t.Errorf("%v, %v; want 8 pairs", j, err)
	}
	if calls[1] == 0 || calls[0] < calls[1] {
		t.Errorf("%d and %d calls", calls[0], calls[1])
	}
}

func TestComparisonRejects(t *testing.T) {
	ran := false
	f := func() { ran = true }
	for _, c := range []Comparison{{Turns: 7}, {Turns: -1}, {Turn: -1}, {Turn: time.Hour}, {Judge: otelhdr.Judge{Margin: 2}}} {
		var r recorder
		if _, err := c.Run(f, f); !errors.Is(err, otelhdr.ErrConfig) || ran {
			t.Errorf("%+v: %v, ran: %t; want ErrConfig before anything runs", c, err, ran)
		}
		if c.NotSlower(&r, f, f); r.failed == "" {
			t.Errorf("%+v: the test goes on", c)
		}
	}
}

// TestCallsAfterASlowOne: a first call that is slow, or one that was disturbed, does not make turns
// of few calls.
func TestCallsAfterASlowOne(t *testing.T) {
	for slow := range 3 {
		var clock time.Duration
		call := 0
		f := func() {
			clock += time.Microsecond
			if call == slow {
				clock += time.Second
			}
			call++
		}
		c := Comparison{Turn: time.Millisecond, now: func() time.Duration { return clock }}
		if got := c.calls(f); got != 1024 {
			t.Errorf("call %d is slow: %d calls in a turn, want 1024", slow, got)
		}
	}
}
