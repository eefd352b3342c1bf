package pmuattrs

import (
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelprof/otelprof/internal/naming"
	"github.com/otelprof/otelprof/internal/perf/perftest"
	"github.com/otelprof/otelprof/internal/testutil"
)

// Without a PMU a span has what the kernel accounts to its thread.
func TestHookFallback(t *testing.T) {
	h := realHook(t)
	if h.Source() != SourceUsage {
		t.Skip("this machine has counters")
	}
	if h.Reason() == nil {
		t.Error("Reason() = nil although there are no counters")
	}
	tr, ended := provide(t, h)
	_, busy := tr.Start(t.Context(), "busy")
	perftest.Spin(20e6) // some milliseconds, by steps: others may have the processor meanwhile
	busy.End()
	_, idle := tr.Start(t.Context(), "idle")
	time.Sleep(5 * time.Millisecond)
	idle.End()

	got := attributesOf(t, ended, "busy")
	for key, want := range map[attribute.Key]any{naming.CounterSourceKey: "rusage", userOnlyKey: false, naming.CounterValidKey: true} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	if _, ok := got[ipcKey]; ok {
		t.Error("there is an IPC without cycles")
	}
	cpu := func(name string) time.Duration {
		ns, _ := attributesOf(t, ended, name)[CPUTime.Key()].(int64)
		return time.Duration(ns)
	}
	if busy, idle := cpu("busy"), cpu("idle"); busy < 500*time.Microsecond || idle > busy {
		t.Errorf("CPU time %v of 20 million steps, %v of 5 ms of sleep", busy, idle)
	}
	if n, _ := attributesOf(t, ended, "idle")[voluntarySwitches.Key()].(int64); n < 1 {
		t.Errorf("%d voluntary switches of a sleep, want at least 1", n)
	}
}

// With a PMU the counts are those of the loop.
func TestHookLoop(t *testing.T) {
	h := realHook(t, WithEvents(Cycles, Instructions))
	if h.Source() != SourceHardware {
		testutil.Lacks(t, "PMU", h.Reason().Error())
	}
	tr, ended := provide(t, h)
	const (
		rounds = 10_000_000
		least  = rounds * perftest.SpinInstructions
	)
	runtime.LockOSThread() // no goroutine of an earlier test runs on it meanwhile
	defer runtime.UnlockOSThread()
	span(tr, "warm up") // opens the thread's counters
	_, s := tr.Start(t.Context(), "loop")
	perftest.Spin(rounds)
	s.End()
	got := attributesOf(t, ended, "loop")
	for key, want := range map[attribute.Key]any{naming.CounterSourceKey: "hw", userOnlyKey: true, naming.CounterValidKey: true} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	// The rest is what the hook and the span take between the two readings.
	instructions, _ := got[Instructions.Key()].(int64)
	cycles, _ := got[Cycles.Key()].(int64)
	if instructions < least || instructions > least+least/100 {
		t.Errorf("%d instructions, want %d and up to a hundredth more", instructions, least)
	}
	if cycles <= 0 {
		t.Errorf("%d cycles", cycles)
	}
	ipc, _ := got[ipcKey].(float64)
	if want := float64(instructions) / float64(cycles); ipc != want {
		t.Errorf("pmu.ipc = %v, want %v", ipc, want)
	}
	if r := h.Regions(); len(r) != 2 || r[0].Name != "loop" || r[0].Counts[1].Max() != uint64(instructions) {
		t.Errorf("Regions() = %+v, want the loop's instructions", r)
	}
	if s := h.Stats(); s.Threads < 1 || s.Counted != 2 {
		t.Errorf("Stats() = %+v, want 2 counted and a thread with counters", s)
	}
}
