package remote_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/otelprof/otelprof/causal/remote"
)

// This test imports no package opamp.
func TestOpAMPNeedsAnImport(t *testing.T) {
	_, err := remote.NewOpAMP("wss://opamp.example/")
	if !errors.Is(err, remote.ErrConfig) || !strings.Contains(err.Error(), `must import _ "github.com/otelprof/otelprof/causal/remote/opamp"`) {
		t.Errorf("NewOpAMP = %v, want ErrConfig and what to import", err)
	}
}
