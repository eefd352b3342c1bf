package main

import (
	"io"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/integration/accuracy/workloads"
)

func TestHoldTargets(t *testing.T) {
	at := func(predicted float64) cell {
		return cell{Mode: profile.ModeOverlap, Predicted: predicted, Lo: predicted - 1, Hi: predicted + 1, Actual: span{20, 19, 21}}
	}
	o := &options{types: workloads.CausalTypes}
	o.modes = []profile.Mode{profile.ModeOverlap}
	if err := o.holdTargets(io.Discard, []cell{at(20), at(20.5)}); err != nil {
		t.Errorf("holdTargets = %v with errors of 0 and 0.5 points", err)
	}
	bad := []cell{at(20), at(30)}
	err := o.holdTargets(io.Discard, bad)
	for _, want := range []string{"overlap coverage 0.50", "overlap mean_abs_error 5.00", "overlap worst 10.00"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("holdTargets = %v, want %q in it", err, want)
		}
	}
	if err := o.holdTargets(io.Discard, []cell{{Mode: profile.ModeOverlap, Withheld: "few windows"}}); err == nil {
		t.Error("holdTargets = nil without a number")
	}
	o.quick = true
	if err := o.holdTargets(io.Discard, bad); err != nil {
		t.Errorf("holdTargets = %v of a quick run", err)
	}
}
