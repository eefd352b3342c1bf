package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
	"github.com/otelprof/otelprof/pmuattrs"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	err := run(&out, 50, 20_000)
	if errors.Is(err, pmuattrs.ErrNotSupported) {
		testutil.Lacks(t, "COUNTERS", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"counters: ", "| Percentile |", "Unsorted |", "Sorted |", "Δ% |", "D-value:"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("output lacks %q:\n%s", text, &out)
		}
	}
	if strings.HasPrefix(out.String(), "counters: rusage") && !strings.Contains(out.String(), "##### cpu_time\n") {
		t.Errorf("output lacks the CPU time:\n%s", &out)
	}
}

func TestRunRejects(t *testing.T) {
	for _, tt := range [][2]int{{0, 1}, {1, 0}} {
		if err := run(new(bytes.Buffer), tt[0], tt[1]); err == nil {
			t.Errorf("run(%d rounds, size %d) succeeded, want an error", tt[0], tt[1])
		}
	}
}
