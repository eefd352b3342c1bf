package check

import (
	"io"
	"os"
	"path/filepath"
	"strings"
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

// Of a program that prints much the end is kept, also where it is copied as package os/exec does.
func TestTail(t *testing.T) {
	var said tail
	much := strings.NewReader(strings.Repeat("x", 1<<20) + "\nno disk\n")
	if _, err := io.Copy(&said, struct{ io.Reader }{much}); err != nil {
		t.Fatal(err)
	}
	if text := said.String(); len(said.kept) > 1<<18 || len(text) > mostSaid || !strings.HasSuffix(text, "x\nno disk") {
		t.Errorf("%d bytes are kept, and %d said, which end with %q", len(said.kept), len(text), text[max(0, len(text)-20):])
	}
}
