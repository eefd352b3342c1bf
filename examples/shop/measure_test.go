package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestMeasurePrintsWhatRequestsTake runs both sides too briefly for the numbers to mean anything.
func TestMeasurePrintsWhatRequestsTake(t *testing.T) {
	for _, side := range []string{sideOtelprof, sideSDK} {
		var out, log bytes.Buffer
		if err := run(t.Context(), []string{"-measure", side, "-for", "1s", "-data", t.TempDir(), "-listen", "127.0.0.1:0"}, &out, &log); err != nil {
			t.Fatalf("%s: %v\n%s", side, err, log.String())
		}
		var requests, seconds, cpu, p50, p99, p999 float64
		_, err := fmt.Sscanf(out.String(), "requests=%g seconds=%g cpu_us=%g p50_us=%g p99_us=%g p999_us=%g", &requests, &seconds, &cpu, &p50, &p99, &p999)
		if err != nil || requests < 1 || seconds <= 0 || p50 <= 0 || p50 > p99 || p99 > p999 {
			t.Errorf("%s: %q, want what requests took: %v", side, out.String(), err)
		}
	}
}

func TestMeasureTakesTwoSides(t *testing.T) {
	for _, args := range [][]string{{"-measure", "other", "-for", "1s"}, {"-measure", sideSDK}} {
		err := run(t.Context(), append(args, "-data", t.TempDir()), new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), "-measure") {
			t.Errorf("%q: %v, want an error about -measure", args, err)
		}
	}
}
