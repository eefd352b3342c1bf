package main

import (
	"io"
	"runtime/pprof"
	"strings"
	"testing"
)

// A run that makes no fault is no success.
func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-only", "("}, {"-only", "no such fault"}, {"surplus"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("run(%q) = nil, want an error", args)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"-list", "-only", "^disk_eio$"}, &out, io.Discard); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q, %v, want one line", out.String(), err)
	}
}

// A fault that is not there is an error, or its line would say that it was survived.
func TestHarmThatCannotBeDone(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Skip(err) // go test -cpuprofile has it
	}
	defer pprof.StopCPUProfile()
	for _, kind := range []string{"profile", "none"} {
		var h harm
		if err := h.start(&service{}, kind, "0"); err == nil {
			t.Errorf("harm %s: no error", kind)
		}
	}
}
