package otlpfile

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A user who imports otlpfile must compile neither gRPC nor pdata.
func TestLight(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		testutil.Lacks(t, "GO", fmt.Sprintf("go list: %v", err))
	}
	for dep := range strings.Lines(string(out)) {
		if strings.HasPrefix(dep, "google.golang.org/grpc") || strings.HasPrefix(dep, "go.opentelemetry.io/collector") {
			t.Errorf("otlpfile compiles %s", strings.TrimSpace(dep))
		}
	}
}
