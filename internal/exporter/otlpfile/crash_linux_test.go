package otlpfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelprof/otelprof/internal/testutil"
)

func init() {
	children["write"] = writeForever
	children["full"] = fillDisk
}

// writeForever exports batches and prints the number of each when it is written.
func writeForever(dir string) error {
	e, err := NewSpanExporter(Config{Dir: dir, MaxBytes: 1 << 20, Backups: 10_000})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		// 200 spans are about 60 kB: long enough for a signal to fall into a write.
		if err := e.ExportSpans(context.Background(), stub("a", 200*i, 200)); err != nil {
			return err
		}
		if s := e.Stats(); s.Failed > 0 {
			return errors.New(s.Outage)
		}
		fmt.Println(i)
	}
}

// killsVariable is how often a process is killed; 3 times if it is not set.
const killsVariable = "OTELPROF_TEST_KILLS"

func TestKilledProcessLosesNoWrittenLine(t *testing.T) {
	kills := 3
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil || kills < 1 {
			t.Fatalf("%s %q: must be an integer above 0", killsVariable, text)
		}
	}
	batches := 0
	for round := range kills {
		dir := t.TempDir()
		written := killWriter(t, dir)
		torn := round == kills-1
		if torn {
			// Where the write itself is atomic, a kill cannot tear it; a crash of the machine can.
			tear(t, filepath.Join(dir, "traces.jsonl"))
		}
		var l testutil.Log
		e, err := NewSpanExporter(Config{Dir: dir, Logger: l.Logger()})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if torn && !strings.Contains(l.String(), "1 torn lines") {
			t.Errorf("said %q, want 1 torn line", &l)
		}
		closed(t, e)
		var paths []string
		for _, name := range files(t, dir) {
			paths = append(paths, filepath.Join(dir, name))
		}
		// One more than was printed may have been written.
		got := len(numbers(t, paths...)) / 200
		if got < written || got > written+1 {
			t.Errorf("round %d: %d batches read, want the %d written", round, got, written)
		}
		batches += got
	}
	t.Logf("%d processes killed, %d batches of 200 spans written, every line of them read", kills, batches)
}

// killWriter kills a process at some point while it writes, and returns how many batches it had
// reported as written.
func killWriter(t *testing.T, dir string) (written int) {
	t.Helper()
	cmd := child(t, "write", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); written++ {
		if written == 0 {
			time.AfterFunc(rand.N(30*time.Millisecond), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		}
		if lines.Text() != strconv.Itoa(written) {
			t.Errorf("child wrote %q, want %d", lines.Text(), written)
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("child ended with %v, want SIGKILL", err)
	}
	return written
}

func tear(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"resourceSpans":[{"scopeSp`); err != nil {
		t.Fatal(err)
	}
}

// fillDisk writes past the limit on the size of files, which the kernel treats like a full
// disk: it takes the beginning of a line.
func fillDisk(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	const limit = 10_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	var l testutil.Log
	e, err := NewSpanExporter(Config{Dir: dir, Logger: l.Logger()})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range 100 {
		if err := e.ExportSpans(ctx, stub("a", i, 1)); err != nil {
			return err
		}
	}
	stats := e.Stats()
	if stats.Failed == 0 || stats.Exported == 0 || stats.Exported+stats.Failed != 100 {
		return fmt.Errorf("stats %+v: want some exported, some failed, 100 in all", stats)
	}
	if err := e.Shutdown(ctx); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("shutdown: %w, want EFBIG", err)
	}
	// The line is logged on a goroutine of its own.
	if lines := l.Await(1); len(lines) != 1 {
		return fmt.Errorf("logged %q: want one line", lines)
	}
	fmt.Println(stats.Exported)
	return nil
}

func TestFullDiskTearsNoLine(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "full", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var exported int
	if _, err := fmt.Sscan(string(out), &exported); err != nil {
		t.Fatalf("child wrote %q", out)
	}
	// All lines are of one length up to the tenth, so nothing shorter fits after the first
	// that did not.
	if diff := cmp.Diff(upTo(exported), numbers(t, filepath.Join(dir, "traces.jsonl"))); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(dir, "traces.jsonl"))
	if err != nil || len(data) == 0 || data[len(data)-1] != '\n' {
		t.Errorf("file ends in %.20q, %v; want a whole line", data[max(0, len(data)-20):], err)
	}
}
