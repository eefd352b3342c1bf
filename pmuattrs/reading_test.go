package pmuattrs

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/perf"
)

// reading makes one of a set of cycles, instructions and branch misses; the times are in ns.
func reading(exact bool, enabled, running uint64, counts ...uint64) Reading {
	set := internSet(SourceHardware, []Event{Cycles, Instructions, BranchMisses})
	r := Reading{values: perf.Values{Enabled: enabled, Running: running, Exact: exact}, of: identity{opened: 7, set: set.id}}
	copy(r.values.Counts[:], counts)
	return r
}

func TestSince(t *testing.T) {
	earlier := reading(true, 1000, 900, 10_000, 20_000, 30)
	d, err := reading(true, 2000, 1900, 12_000, 23_000, 30).Since(earlier)
	if err != nil {
		t.Fatal(err)
	}
	got := maps.Collect(d.All())
	if diff := cmp.Diff(map[Event]int64{Cycles: 2000, Instructions: 3000, BranchMisses: 0}, got, cmp.AllowUnexported(Event{})); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}
	if ipc, ok := d.IPC(); ipc != 1.5 || !ok {
		t.Errorf("IPC() = %v, %t, want 1.5, true", ipc, ok)
	}
	if d.Enabled != time.Microsecond || d.Running != time.Microsecond || d.Source() != SourceHardware {
		t.Errorf("Enabled, Running, Source = %v, %v, %v, want 1µs, 1µs, hw", d.Enabled, d.Running, d.Source())
	}
	if n, ok := d.Count(Instructions); n != 3000 || !ok {
		t.Errorf("Count(Instructions) = %d, %t, want 3000, true", n, ok)
	}
	if n, ok := d.Count(CacheMisses); n != 0 || ok {
		t.Errorf("Count(CacheMisses) = %d, %t, want 0, false", n, ok)
	}
}

func TestSinceRefuses(t *testing.T) {
	first := reading(true, 1000, 1000, 1<<40, 1<<40, 1<<40)
	other := first
	other.of.opened++
	for _, test := range []struct {
		name    string
		earlier Reading
		later   Reading
		want    error
	}{
		{"of two groups", first, other, errUnrelated},
		{"of nothing", Reading{}, Reading{}, errUnrelated},
		{"the first of nothing", Reading{}, first, errUnrelated},
		{"in the wrong order", reading(true, 2000, 2000, 1<<40+5, 1<<40, 1<<40), first, errImplausible},
		{"a count goes down", first, reading(true, 2000, 2000, 1<<40, 1<<40-1, 1<<40), errImplausible},
		{"a count goes around", first, reading(true, 2000, 2000, 1<<40, 1<<40+1<<48, 1<<40), errImplausible},
		{"a count goes around below", first, reading(true, 2000, 2000, 1<<40, 1<<40-1<<32, 1<<40), errImplausible},
		{"faster than 1e11 a second", first, reading(true, 2000, 2000, 1<<40+100_001, 1<<40, 1<<40), errImplausible},
		{"in user space, and goes around", first, reading(false, 1000, 1000, 1<<40+1<<47+1, 1<<40, 1<<40), errImplausible},
		{"time stands still and the count does not", first, reading(true, 1000, 1000, 1<<40+1, 1<<40, 1<<40), errImplausible},
		{"shared counters", first, reading(true, 2000, 1999, 1<<40, 1<<40, 1<<40), ErrMultiplexed},
	} {
		d, err := test.later.Since(test.earlier)
		if !errors.Is(err, test.want) || d != (Deltas{}) {
			t.Errorf("%s: Since = %+v, %v, want nothing and %v", test.name, d, err, test.want)
		} else if !strings.HasPrefix(err.Error(), "pmuattrs: ") {
			t.Errorf("%s: %q does not say who says so", test.name, err)
		}
	}
	for _, test := range []struct {
		name  string
		later Reading
	}{
		{"the same", first},
		{"just 1e11 a second", reading(true, 2000, 2000, 1<<40+100_000, 1<<40, 1<<40)},
		{"in user space, without a time", reading(false, 1000, 1000, 1<<40+1<<47, 1<<40, 1<<40)},
		{"a very long time", reading(true, math.MaxInt64, math.MaxInt64, 1<<40+1<<46, 1<<40, 1<<40)},
	} {
		if _, err := test.later.Since(first); err != nil {
			t.Errorf("%s: Since = %v", test.name, err)
		}
	}
}

// TestSinceAcrossWrap has counts pass 2^64, where the kernel's sums go around.
func TestSinceAcrossWrap(t *testing.T) {
	d, err := reading(true, 2000, 2000, 41).Since(reading(true, 1000, 1000, math.MaxUint64))
	if n, _ := d.Count(Cycles); n != 42 || err != nil {
		t.Errorf("from 2^64-1 to 41: %d, %v, want 42", n, err)
	}
}

func TestIPC(t *testing.T) {
	for _, test := range []struct {
		events []Event
		counts []int64
		want   float64
		ok     bool
	}{
		{[]Event{Instructions, Cycles}, []int64{30, 20}, 1.5, true},
		{[]Event{Instructions.WithKernel(), Cycles.WithKernel()}, []int64{30, 20}, 1.5, true},
		{[]Event{Instructions, Cycles.WithKernel()}, []int64{30, 20}, 0, false},
		{[]Event{Instructions.WithKernel(), Cycles}, []int64{30, 20}, 0, false},
		{[]Event{Cycles, Instructions}, []int64{0, 30}, 0, false},
		{[]Event{Cycles}, []int64{20}, 0, false},
		{[]Event{BranchMisses}, []int64{20}, 0, false},
	} {
		d := Deltas{set: internSet(SourceHardware, test.events)}
		copy(d.counts[:], test.counts)
		if got, ok := d.IPC(); got != test.want || ok != test.ok {
			t.Errorf("IPC of %v of %v = %v, %t, want %v, %t", test.counts, test.events, got, ok, test.want, test.ok)
		}
	}
}

func TestZeroDeltas(t *testing.T) {
	var d Deltas
	for e, n := range d.All() {
		t.Errorf("All yields %v, %d", e, n)
	}
	n, counted := d.Count(Cycles)
	ipc, ok := d.IPC()
	if n != 0 || counted || ipc != 0 || ok || d.Source() != "" {
		t.Errorf("Count, IPC, Source = %d, %t, %v, %t, %q, want all zero", n, counted, ipc, ok, d.Source())
	}
}

func TestSinceAllocs(t *testing.T) {
	earlier, later := reading(true, 0, 0), reading(true, 2000, 2000, 10, 20, 30)
	var sum int64
	if n := testing.AllocsPerRun(100, func() {
		d, err := later.Since(earlier)
		if err != nil {
			t.Error(err)
		}
		for _, n := range d.All() {
			sum += n
		}
	}); n != 0 {
		t.Errorf("Since and All allocate %v times, want 0", n)
	}
}

func TestInternSet(t *testing.T) {
	one := internSet(SourceHardware, []Event{Cycles})
	if again := internSet(SourceHardware, []Event{Cycles}); again != one {
		t.Error("internSet of the same events twice = different sets")
	}
	if two := internSet(SourceUsage, []Event{Cycles}); two == one || setOf(one.id) != one || setOf(two.id) != two {
		t.Error("sets of two sources are mixed up")
	}
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { // concurrently
			t.Parallel()
			if s := internSet(SourceHardware, []Event{rawEvent(uint64(i % 3))}); setOf(s.id) != s {
				t.Error("setOf does not find a set")
			}
		})
	}
}

func BenchmarkSince(b *testing.B) {
	earlier, later := reading(true, 0, 0), reading(true, 2000, 2000, 10, 20, 30)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := later.Since(earlier); err != nil {
			b.Fatal(err)
		}
	}
}
