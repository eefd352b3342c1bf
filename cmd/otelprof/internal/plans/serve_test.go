package plans

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/causal/profile"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/planserver"
	"github.com/otelprof/otelprof/internal/testutil"
)

// A server that is started anew has the plan of its file before it listens.
func TestServePushesBeforeItListens(t *testing.T) {
	document, err := NewPlan{Mode: string(profile.ModeSlowdown)}.Document(time.Now(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plan.yaml")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var l testutil.Log
	err = serve(t.Context(), &command.Call{Stdout: io.Discard}, taken.Addr().String(), file, []planserver.Option{planserver.WithLogger(l.Logger())}, l.Logger())
	if err == nil || !strings.Contains(l.String(), "plan pushed") {
		t.Errorf("serve at an address that is taken = %v, said %q, want an error, and the plan pushed before", err, l.String())
	}
}
