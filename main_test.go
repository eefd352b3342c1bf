package otelprof

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for _, kv := range os.Environ() { // the tests say what is set
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "OTELPROF_") {
			_ = os.Unsetenv(name)
		}
	}
	// net/http lets a connection linger for half a second after it has refused a request.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
