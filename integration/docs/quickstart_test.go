package docs_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/otelprof/otelprof/integration/internal/child"
)

// The program that README.md shows ends by itself when it is told to, also while its Collector
// hangs: within the 30 s that an orchestrator waits before it kills.
func TestQuickstartEndsBySignal(t *testing.T) {
	program := filepath.Join(t.TempDir(), "quickstart")
	if err := child.Build(t.Context(), filepath.Join(root, "examples"), "./quickstart", program); err != nil {
		t.Fatal(err)
	}
	hangs, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+hangs.Addr().String(), "OTEL_BSP_SCHEDULE_DELAY=100", "OTELPROF_VIEWER=off")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := hangs.Accept() // it runs, and exports
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || ctx.Err() != nil {
		t.Errorf("quickstart after SIGTERM: %v, %v; want that it ends by itself", err, ctx.Err())
	}
}
