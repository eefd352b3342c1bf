package remote_test

import (
	"strings"
	"testing"

	"github.com/otelprof/otelprof/internal/testutil"
)

// A service that reads plans from a file or over HTTP compiles neither protobuf nor WebSockets.
func TestDependencies(t *testing.T) {
	for _, dep := range testutil.Deps(t, "{{.ImportPath}}", ".") {
		for _, forbidden := range []string{"google.golang.org/", "github.com/gorilla/", "github.com/open-telemetry/opamp-go"} {
			if strings.HasPrefix(dep, forbidden) {
				t.Errorf("causal/remote compiles %s", dep)
			}
		}
	}
}
