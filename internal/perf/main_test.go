package perf

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		os.Exit(runChild(name))
	}
	goleak.VerifyTestMain(m)
}
