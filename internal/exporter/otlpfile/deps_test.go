package otlpfile

import (
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A user who imports otlpfile must compile neither gRPC nor pdata.
func TestLight(t *testing.T) {
	for _, dep := range testutil.Deps(t, "{{.ImportPath}}", ".") {
		if strings.HasPrefix(dep, "google.golang.org/grpc") || strings.HasPrefix(dep, "go.opentelemetry.io/collector") {
			t.Errorf("otlpfile compiles %s", dep)
		}
	}
}
