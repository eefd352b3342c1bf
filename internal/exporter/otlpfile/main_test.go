package otlpfile

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
)

// childEnv makes the test binary run one of children instead of the tests, in the folder
// that the next variable names.
const (
	childEnv = "OTLPFILE_TEST_CHILD"
	dirEnv   = "OTLPFILE_TEST_DIR"
)

var children = map[string]func(dir string) error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		run, ok := children[name]
		err := errors.New("no such child")
		if ok {
			err = run(os.Getenv(dirEnv))
		}
		if err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child returns a command that runs children[name] in a process of its own.
func child(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+name, dirEnv+"="+dir)
	return cmd
}

// stub returns spans with this name and a number each.
func stub(name string, first, n int) []sdktrace.ReadOnlySpan {
	stubs := make(tracetest.SpanStubs, n)
	for i := range stubs {
		stubs[i] = tracetest.SpanStub{
			Name: name,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
			}),
			Attributes: []attribute.KeyValue{attribute.Int("n", first+i)},
		}
	}
	return stubs.Snapshots()
}

func export(t *testing.T, e *delivery.SpanExporter, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	if err := e.ExportSpans(context.Background(), spans); err != nil {
		t.Fatalf("ExportSpans: %v", err)
	}
}

// files returns the names of the folder's files, without the locks.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func closed(t *testing.T, e interface{ Shutdown(context.Context) error }) {
	t.Helper()
	if err := e.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
