package otlpfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelprof/otelprof/internal/exporter/delivery"
	"github.com/otelprof/otelprof/internal/testutil"
)

// newFile returns a file whose lines fill it one by one.
func newFile(t *testing.T, dir string) *file {
	t.Helper()
	f, err := openFile("traces", Config{Dir: dir, MaxBytes: 10, Backups: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func appendLine(t *testing.T, f *file, i int) {
	t.Helper()
	if err := f.append(fmt.Appendf(nil, "{\"new\":%d}\n", i)); err != nil {
		t.Fatal(err)
	}
}

// Windows refuses to rename a file that is open.
func TestRotationRenamesNoOpenFile(t *testing.T) {
	f := newFile(t, t.TempDir())
	renamed := 0
	f.rename = func(from, to string) error {
		renamed++
		if f.f != nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.New("used by another process")}
		}
		return os.Rename(from, to)
	}
	for i := range 4 {
		appendLine(t, f, i)
	}
	if renamed != 3 {
		t.Errorf("%d renames, want 3", renamed)
	}
}

// A rotation that fails is tried again by the next write, and costs no line that was written.
func TestRotationThatFailsIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	f := newFile(t, dir)
	appendLine(t, f, 0)
	f.rename = func(string, string) error { return errors.New("used by another process") }
	if err := f.append([]byte("{\"new\":1}\n")); err == nil {
		t.Error("append = nil, want the failure")
	}
	f.rename = os.Rename
	appendLine(t, f, 2)
	if names, err := f.full(); err != nil || len(names) != 1 {
		t.Errorf("full files %q, %v, want one", names, err)
	}
}

// A clock that was set back costs the oldest files and not the newest.
func TestClockSetBackKeepsTheNewestFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 { // written while the clock said 2099
		name := filepath.Join(dir, fmt.Sprintf("traces-2099010%dT000000.000000000Z.jsonl", i+1))
		if err := os.WriteFile(name, []byte("{\"old\":1}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newFile(t, dir)
	for i := range 6 {
		appendLine(t, f, i)
	}
	names, err := f.full()
	if err != nil || len(names) != 4 {
		t.Fatalf("full files %q, %v, want 4", names, err)
	}
	for i, name := range names {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != fmt.Sprintf("{\"new\":%d}\n", i+1) {
			t.Errorf("file %d, %s, has %q, %v, want line %d", i, name, text, err, i+1)
		}
	}
}

// What was measured is for its owner alone: statements and URLs are in it.
func TestFilesAreForTheirOwner(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	dir := t.TempDir()
	f := newFile(t, dir)
	appendLine(t, f, 0)
	appendLine(t, f, 1)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d files, %v, want the one written, a full one and the lock", len(entries), err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v, want 0600", e.Name(), info.Mode(), err)
		}
	}
}

// A process that comes while the one before is still there gets the folder when that has ended.
func TestFolderIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before, err := NewSpanExporter(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var l testutil.Log
		after, err := NewSpanExporter(Config{Dir: dir, Wait: true, Logger: l.Logger()})
		if err != nil {
			t.Fatal(err)
		}
		export(t, before, stub("a", 0, 1))
		for range 5 {
			export(t, after, stub("a", 100, 1))
			time.Sleep(2 * time.Second)
		}
		closed(t, before)
		export(t, after, stub("a", 1, 1))
		closed(t, after)
		if s := after.Stats(); s.Failed != 5 || s.Exported != 1 {
			t.Errorf("Stats = %+v, want 5 failed and 1 exported", s)
		}
		if lines := l.Lines(); len(lines) != 2 || !strings.Contains(lines[0], "in use by another process") || !strings.Contains(lines[1], "delivering again") {
			t.Errorf("said %q, want that it is in use, and the return", lines)
		}
		if got := len(numbers(t, filepath.Join(dir, "traces.jsonl"))); got != 2 {
			t.Errorf("%d spans in the file, want 2", got)
		}
	})
}

// Others copy the file and truncate it. A torn line after that is cut off, and the file never
// padded.
func TestCopyTruncate(t *testing.T) {
	dir := t.TempDir()
	f, err := openFile("traces", Config{Dir: dir, MaxBytes: 1 << 20, Backups: 4})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		appendLine(t, f, i)
	}
	if err := os.Truncate(f.path(), 0); err != nil {
		t.Fatal(err)
	}
	f.torn = true // the last write before was cut short
	appendLine(t, f, 7)
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(f.path()); err != nil || string(text) != "{\"new\":7}\n" {
		t.Errorf("the file has %d bytes, %q, %v, want the line alone", len(text), text, err)
	}
}

// A disk that hangs holds up flushes and shutdowns no longer than their context, and readers of the
// counts not at all.
func TestHungDiskIsBoundedByTheContext(t *testing.T) {
	for name, call := range map[string]func(context.Context, *delivery.MetricExporter) error{
		"ForceFlush": func(ctx context.Context, e *delivery.MetricExporter) error { return e.ForceFlush(ctx) },
		"Shutdown":   func(ctx context.Context, e *delivery.MetricExporter) error { return e.Shutdown(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			f, m, err := open(Config{Dir: t.TempDir()}, "metrics", "data points")
			if err != nil {
				t.Fatal(err)
			}
			e := delivery.WrapMetrics(metricWriter{f}, m)
			f.mu.Lock() // as long as a write that hangs
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			done := make(chan error, 1)
			go func() { e.Stats(); done <- call(ctx, e) }()
			select {
			case err := <-done:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s = %v, want the context's end", name, err)
				}
			case <-time.After(20 * time.Second):
				t.Errorf("%s waits for the disk", name)
			}
			f.mu.Unlock()
			for f.Shutdown(context.Background()) != nil {
				t.Error("close has failed")
			}
		})
	}
}
