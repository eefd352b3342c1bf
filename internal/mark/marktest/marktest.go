// Package marktest records execution traces for tests of what is marked in them.
package marktest

import (
	"bytes"
	"errors"
	"io"
	rtrace "runtime/trace"
	"testing"

	"golang.org/x/exp/trace"

	"github.com/otelprof/otelprof/internal/mark"
)

// Logs returns the log events of an execution trace that is on, with marks, while f runs. A process
// that is being traced already skips the test.
func Logs(t *testing.T, f func()) (logs []trace.Event) {
	t.Helper()
	return Own(t, func() {
		defer mark.Want()()
		f()
	})
}

// Own is Logs of a trace in which marks are not wanted, such as the program's own.
func Own(t *testing.T, f func()) (logs []trace.Event) {
	t.Helper()
	var recorded bytes.Buffer
	if err := rtrace.Start(&recorded); err != nil {
		t.Skipf("this process is being traced: %v", err)
	}
	f()
	rtrace.Stop()
	events, err := trace.NewReader(&recorded)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return logs
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() == trace.EventLog {
			logs = append(logs, e)
		}
	}
}
