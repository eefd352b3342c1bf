package otelprof

import (
	"slices"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// Who imports the package compiles neither OpAMP nor the Collector's packages, and 20 modules at
// most besides those of the SDK and its exporter of OTLP over HTTP, which brings gRPC along.
func TestDependencies(t *testing.T) {
	const modules = "{{with .Module}}{{.Path}}{{end}}"
	ours := testutil.Deps(t, modules, ".")
	for _, forbidden := range []string{"github.com/gorilla/websocket", "github.com/open-telemetry/opamp-go", "go.opentelemetry.io/collector/pdata"} {
		if slices.Contains(ours, forbidden) {
			t.Errorf("otelprof compiles %s", forbidden)
		}
	}
	theirs := testutil.Deps(t, modules, "go.opentelemetry.io/otel/sdk/trace", "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp")
	added := slices.DeleteFunc(ours, func(m string) bool { return slices.Contains(theirs, m) })
	if len(added) > 20 {
		t.Errorf("otelprof adds %d modules, want 20 at most: %q", len(added), added)
	}
	t.Logf("%d modules besides the SDK's: %q", len(added), added)
}
