package pmuattrs

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/perf"
)

func TestParseEvent(t *testing.T) {
	for text, want := range map[string]Event{
		"cycles":                  Cycles,
		"cpu-cycles":              Cycles,
		"CPU_CYCLES":              Cycles,
		"branch_misses":           BranchMisses,
		"branch-misses":           BranchMisses,
		"branches":                BranchInstructions,
		"l1d.read_misses":         L1DReadMisses,
		"L1-dcache-load-misses":   L1DReadMisses,
		"L1-dcache-loads":         l1DReads,
		"L1-dcache-stores":        l1DWrites,
		"L1-icache-load-misses":   l1IReadMisses,
		"LLC-loads":               llReads,
		"LLC-store-misses":        llWriteMisses,
		"dTLB-load-misses":        dtlbReadMisses,
		"iTLB-loads":              itlbReads,
		"branch-load-misses":      branchReadMisses,
		"branch-loads":            branchReads,
		"ref-cycles":              refCycles,
		"idle-cycles-frontend":    stalledCyclesFrontend,
		"stalled-cycles-backend":  stalledCyclesBackend,
		"cs":                      ContextSwitches,
		"context_switches:u":      ContextSwitches,
		"page-faults":             PageFaults,
		"task-clock":              TaskClock,
		"cpu_time":                CPUTime,
		"instructions:uk":         Instructions.WithKernel(),
		"instructions:ku":         Instructions.WithKernel(),
		"instructions:u":          Instructions,
		"r01c2":                   rawEvent(0x1c2),
		"RFFFFFFFFFFFFFFFF:uk":    rawEvent(1<<64 - 1).WithKernel(),
		"minor-faults":            minorFaults,
		"cpu-migrations":          CPUMigrations,
		"stalled_cycles_frontend": stalledCyclesFrontend,
	} {
		if got, err := ParseEvent(text); err != nil || got != want {
			t.Errorf("ParseEvent(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseEventErrors(t *testing.T) {
	for text, says := range map[string]string{
		"":                     "unknown",
		"brnch_misses":         "did you mean branch_misses",
		"L1-dcache-load-mises": "did you mean l1d.read_misses",
		"cycle":                "did you mean cycles?",
		"cycles:k":             `modifier "k"`,
		"r":                    "unknown",
		"r10000000000000000":   "unknown",
		"frobnications":        "unknown",
		"no-such-pmu/event=1/": "no PMU no-such-pmu",
		"/":                    "must have the form",
		"cpu//":                "must have the form",
		"../event=1/":          "must have the form",
		"cpu/event=1":          "must have the form",
	} {
		got, err := ParseEvent(text)
		if got != (Event{}) || !errors.Is(err, ErrEvent) || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseEvent(%q) = %v, %v, want ErrEvent that says %q", text, got, err, says)
		}
	}
}

var attributeNames = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`)

func TestNamedEvents(t *testing.T) {
	seen := map[perf.Event]string{}
	for _, e := range named {
		if got, err := ParseEvent(e.String()); err != nil || got != e {
			t.Errorf("ParseEvent(%q) = %v, %v, want the event itself", e, got, err)
		}
		if got, err := ParseEvent(e.WithKernel().String()); err != nil || got != e.WithKernel() {
			t.Errorf("ParseEvent(%q) = %v, %v, want the event itself", e.WithKernel(), got, err)
		}
		if !attributeNames.MatchString(e.Name()) || e.Unit() == "" {
			t.Errorf("%v has the name %q, the unit %q", e, e.Name(), e.Unit())
		}
		if other, ok := seen[e.perf]; ok && e.usage == 0 {
			t.Errorf("%s and %s are the same for the kernel", e.Name(), other)
		}
		seen[e.perf] = e.Name()
		if !e.WithKernel().InKernel() {
			t.Errorf("%v.WithKernel().InKernel() = false", e)
		}
	}
	if Cycles.InKernel() || !ContextSwitches.InKernel() || !CPUTime.InKernel() {
		t.Errorf("InKernel of cycles, context switches, CPU time = %t, %t, %t, want false, true, true",
			Cycles.InKernel(), ContextSwitches.InKernel(), CPUTime.InKernel())
	}
}

func TestEventText(t *testing.T) {
	events := map[string]Event{"a": L1DReadMisses, "b": Cycles.WithKernel()}
	text, err := json.Marshal(events)
	if want := `{"a":"l1d.read_misses","b":"cycles:uk"}`; err != nil || string(text) != want {
		t.Errorf("Marshal = %s, %v, want %s", text, err, want)
	}
	var got map[string]Event
	if err := json.Unmarshal(text, &got); err != nil || got["a"] != events["a"] || got["b"] != events["b"] {
		t.Errorf("Unmarshal of %s = %v, %v", text, got, err)
	}
	if err := json.Unmarshal([]byte(`{"a":"cycls"}`), &got); !errors.Is(err, ErrEvent) {
		t.Errorf("Unmarshal of cycls = %v, want ErrEvent", err)
	}
	if _, err := (Event{}).MarshalText(); !errors.Is(err, ErrEvent) {
		t.Errorf("MarshalText of the zero event = %v, want ErrEvent", err)
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, text := range []string{"cycles", "L1-dcache-load-misses:uk", "r01c2", "software/config=0x3,name=switches/uk", "msr/tsc/", "cpu/event=0x3c,umask=1/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEvent(text)
		if err != nil {
			if !errors.Is(err, ErrEvent) || e != (Event{}) {
				t.Errorf("ParseEvent(%q) = %v, %v: want no event and ErrEvent", text, e, err)
			}
			return
		}
		again, err := ParseEvent(e.String())
		if err != nil || again != e {
			t.Errorf("ParseEvent(%q) = %#v, but of its text %q %#v, %v", text, e, e, again, err)
		}
		if !attributeNames.MatchString(e.Name()) || e.Unit() == "" {
			t.Errorf("ParseEvent(%q) has the name %q, the unit %q", text, e.Name(), e.Unit())
		}
	})
}
