package spans_test

import (
	"os"
	"testing"

	"go.opentelemetry.io/otel"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(scenarioVariable); name != "" {
		runScenario(name)
		os.Exit(0)
	}
	otel.SetErrorHandler(&handled)
	goleak.VerifyTestMain(m)
}
