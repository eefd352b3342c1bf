package remote_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A service that reads plans from a file or over HTTP compiles neither protobuf nor WebSockets.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		testutil.Lacks(t, "GO", fmt.Sprintf("go list: %v", err))
	}
	for dep := range strings.Lines(string(out)) {
		for _, forbidden := range []string{"google.golang.org/", "github.com/gorilla/", "github.com/open-telemetry/opamp-go"} {
			if strings.HasPrefix(dep, forbidden) {
				t.Errorf("causal/remote compiles %s", strings.TrimSpace(dep))
			}
		}
	}
}
