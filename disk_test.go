package otelprof

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	otellog "go.opentelemetry.io/otel/log"

	"github.com/otelprof/otelprof/internal/testutil"
)

// again tries until f has done it: the files are made again meanwhile.
func again(f func() bool) {
	for !f() {
		time.Sleep(time.Millisecond)
	}
}

// The application's logs go through OpenTelemetry to a data folder that cannot be written to any
// more. Each goroutine that logs goes on, what is lost is counted, and Shutdown keeps to its
// context.
func TestDiskThatFailsFreezesNoCaller(t *testing.T) {
	for name, fail := range map[string]func(dir string){
		"a folder in place of the file": func(dir string) {
			path := filepath.Join(dir, "logs.jsonl")
			again(func() bool { return os.Remove(path) == nil && os.Mkdir(path, 0o700) == nil })
		},
		"no space left on the device": func(dir string) {
			path := filepath.Join(dir, "logs.jsonl")
			again(func() bool { return os.Remove(path) == nil && os.Symlink("/dev/full", path) == nil })
		},
		"the folder is gone": func(dir string) {
			again(func() bool { return os.RemoveAll(dir) == nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			var to atomic.Pointer[otellog.Logger]
			logger := slog.New(testutil.Bridge{To: &to})
			p, err := Setup(t.Context(), WithoutGlobals(), WithDataDir(dir), WithLogger(logger))
			if err != nil {
				t.Fatal(err)
			}
			l := p.LoggerProvider().Logger("bridge")
			to.Store(&l)
			logger.Info("before")
			fail(dir)
			done := make(chan struct{})
			const goroutines, lines = 8, 100
			go func() {
				defer close(done)
				var wg sync.WaitGroup
				for range goroutines {
					wg.Go(func() {
						for range lines {
							logger.Info("a line of the application's")
							spanOf(p, "work")
						}
					})
				}
				wg.Wait()
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("a goroutine that logs has waited for 20 s")
			}
			_ = p.Shutdown(within(t, 5*time.Second))
			for _, s := range p.Exports() {
				if s.Queued != 0 {
					t.Errorf("Exports: %+v, want none left", s)
				}
				if strings.Contains(s.Name, "logs to") && (s.Failed == 0 || s.Ended() < goroutines*lines) {
					t.Errorf("Exports: %+v, want %d lines and some failed", s, goroutines*lines)
				}
			}
		})
	}
}
