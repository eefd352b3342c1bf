package check

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

// script writes a shell script, which is the program of a test.
func script(t *testing.T, lines string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+lines+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// quiet is a call that prints nothing.
func quiet() *command.Call { return &command.Call{Stdout: io.Discard, Stderr: io.Discard} }

// A program beside itself has as many pairs as two programs, and is the same.
func TestProgramBesideItself(t *testing.T) {
	const span = `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"shop"},"spans":[{"traceId":"00000000000000000000000000000001",` +
		`"spanId":"0000000000000001","name":"request","kind":1,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000001000000"}]}]}]}`
	file := script(t, "echo '"+span+`' >"$OTELPROF_DATA_DIR/traces.jsonl"`)
	o := options{call: quiet(), base: file, new: file, pairs: leastPairs, each: time.Minute, share: true}
	runs, err := o.duets(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.both) != leastPairs || len(runs.same) != leastPairs {
		t.Fatalf("%d pairs, and %d of the old version with itself, want %d of each", len(runs.both), len(runs.same), leastPairs)
	}
	if row := judge(runs, nil).Rows[0]; row.Metric != "mean" || row.Change != 0 || row.Verdict != same {
		t.Errorf("row %+v, want a mean that is the same", row)
	}
}
