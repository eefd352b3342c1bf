package main

import (
	"bytes"
	"context"
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/examples/internal/beside"
	"github.com/otelprof/otelprof/internal/testutil/thorough"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLetters(t *testing.T) {
	numbers, slow, fast := make([]uint32, blockBytes), make([]byte, blockBytes), make([]byte, blockBytes)
	r := &random{tracer: noop.NewTracerProvider().Tracer(""), seed: 42}
	if r.fill(context.Background(), numbers) != 0 || r.fill(context.Background(), numbers) != 1 {
		t.Error("blocks are not counted from 0")
	}
	newAlphabet(false).choose(slow, numbers)
	newAlphabet(true).choose(fast, numbers)
	if !bytes.Equal(slow, fast) {
		t.Error("the variants make different text")
	}
	for name, want := range map[string]float64{"a": 0.27, "g": 0.12, "B": 0.02} {
		if got := float64(bytes.Count(slow, []byte(name))) / blockBytes; math.Abs(got-want) > 0.01 {
			t.Errorf("%.3f of the letters are %s, want %.2f", got, name, want)
		}
	}
}

// Workers that overtake each other write in order.
func TestOutputInOrder(t *testing.T) {
	o := newOutput(noop.NewTracerProvider().Tracer(""))
	first := make(chan struct{})
	go func() {
		defer close(first)
		o.write(context.Background(), 1, []byte("world"))
	}()
	o.write(context.Background(), 0, []byte("hello "))
	<-first
	want := newOutput(o.tracer)
	want.write(context.Background(), 0, []byte("hello world"))
	if o.sum != want.sum {
		t.Error("blocks are not written in order")
	}
}

// Recordings, or in runtime mode overlap, and dilation each say that select matters.
func TestSelectMatters(t *testing.T) {
	if !*thorough.Rounds {
		t.Skip("records for 8 s and more: -long")
	}
	var got beside.Profiles
	var share float64
	var modes map[profile.Mode]bool
	for length := 8 * time.Second; length < time.Minute && len(modes) < 2; length *= 2 { // on a busy machine recordings hold less
		var err error
		if got, err = program.Profile(t.Context(), length, false); err != nil {
			t.Fatal(err)
		}
		share = got.CPU.Share(program.Function) // less under the race detector, whose own code has no callers
		modes = map[profile.Mode]bool{}
		for _, c := range got.Causal.Curves {
			modes[c.Mode] = true
		}
		t.Logf("%v: %+v", length, got.Causal.Recorded)
	}
	if share < 0.05 {
		t.Errorf("CPU profile: %.0f %% in %s, want more than 5 %%", 100*share, program.Function)
	}
	if !modes[profile.ModeDilation] || len(modes) != 2 {
		t.Errorf("answers by %v, want by dilation and another mode", modes)
	}
	for mode := range modes {
		e, reason := program.Predicted(got.Causal, mode, 0.5)
		t.Logf("CPU %.1f %%, %s %.1f ±%.1f %% (%.1f .. %.1f) %s", 100*share, mode, 100*e.Reduction, 100*e.StdErr, 100*e.Lo, 100*e.Hi, reason)
		// On a machine that does other things too there may be no number, with a reason.
		if reason == "" && (e.Hi < 0.1 || e.Lo > 0.5) {
			t.Errorf("%s: 50 %% faster gives %.0f .. %.0f %%, want 10 to 50 %%", mode, 100*e.Lo, 100*e.Hi)
		}
	}
}
