package check

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
	"github.com/otelprof/otelprof/internal/testutil"
)

// TestMain is also a program that fails once it has had a connection. Its arguments are "crash", a
// port, and a file for its process ID.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "crash" {
		crash(os.Args[2], os.Args[3])
	}
	os.Exit(m.Run())
}

func crash(port, file string) {
	err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o600)
	if err == nil {
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_, err = l.Accept()
		}
	}
	fmt.Println("no disk", err)
	os.Exit(3)
}

// script writes a shell script, which is the program of a test.
func script(t *testing.T, lines string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+lines+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// quiet is a call that prints nothing.
func quiet() *command.Call { return &command.Call{Stdout: io.Discard, Stderr: io.Discard} }

// A program beside itself has as many pairs as two programs, and is the same.
func TestProgramBesideItself(t *testing.T) {
	const span = `{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{"name":"shop"},"spans":[{"traceId":"00000000000000000000000000000001",` +
		`"spanId":"0000000000000001","name":"request","kind":1,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000001000000"}]}]}]}`
	file := script(t, "echo '"+span+`' >"$OTELPROF_DATA_DIR/traces.jsonl"`)
	o := options{call: quiet(), base: file, new: file, pairs: leastPairs, each: time.Minute, share: true}
	runs, err := o.duets(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(runs.both) != leastPairs || len(runs.same) != leastPairs {
		t.Fatalf("%d pairs, and %d of the old version with itself, want %d of each", len(runs.both), len(runs.same), leastPairs)
	}
	if row := judge(runs, nil).Rows[0]; row.Metric != "mean" || row.Change != 0 || row.Verdict != same {
		t.Errorf("row %+v, want a mean that is the same", row)
	}
}

// Of a program that prints much the end is kept, also where it is copied as package os/exec does.
func TestTail(t *testing.T) {
	var said tail
	much := strings.NewReader(strings.Repeat("x", 1<<20) + "\nno disk\n")
	if _, err := io.Copy(&said, struct{ io.Reader }{much}); err != nil {
		t.Fatal(err)
	}
	if text := said.String(); len(said.kept) > 1<<18 || len(text) > mostSaid || !strings.HasSuffix(text, "x\nno disk") {
		t.Errorf("%d bytes are kept, and %d said, which end with %q", len(said.kept), len(text), text[max(0, len(text)-20):])
	}
}

// A server that ends before its load does has failed, with what it has said.
func TestServerEnds(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id := filepath.Join(t.TempDir(), "{port}")
	for name, o := range map[string]options{
		"before": {base: script(t, "echo no disk; exit 3"), load: "true"},
		"under":  {base: own, args: []string{"crash", "{port}", id}, load: "while kill -0 $(cat " + id + ") 2>/dev/null; do sleep 0.01; done"},
	} {
		o.call, o.each, o.share = quiet(), time.Minute, true
		_, err := o.duet(t.Context(), t.TempDir(), o.base)
		if err == nil || !strings.Contains(err.Error(), "exit status 3\nno disk") {
			t.Errorf("%s its load: %v, want its status, and what it has said", name, err)
		}
	}
}

// An interrupt is said once, and not by each program of a pair.
func TestInterruptedPair(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := script(t, "sleep 60")
	o := options{call: quiet(), base: file, each: time.Minute, share: true}
	if _, err := o.duet(ctx, t.TempDir(), file); err == nil || err.Error() != "interrupted" {
		t.Errorf("duet() = %v, want that it was interrupted", err)
	}
}

// One more interrupt kills programs that do not end by the first.
func TestInterruptedTwice(t *testing.T) {
	own, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	kept := make(chan os.Signal, 1) // else an interrupt would end the test
	signal.Notify(kept, os.Interrupt)
	defer signal.Stop(kept)
	ready := filepath.Join(t.TempDir(), "ready")
	file := script(t, "trap '' INT\ntouch "+ready+".$$\nexec sleep 60")
	o := options{call: quiet(), base: file, each: time.Minute, share: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, done := t.TempDir(), make(chan error, 1)
	go func() {
		_, err := o.duet(ctx, dir, file)
		done <- err
	}()
	if !testutil.Eventually(func() bool { all, _ := filepath.Glob(ready + ".*"); return len(all) == 2 }) {
		t.Fatal("the programs do not start")
	}
	began := time.Now()
	cancel()
	for {
		select {
		case err := <-done:
			if took := time.Since(began); err == nil || err.Error() != "interrupted" || took > endTime/2 {
				t.Errorf("duet() = %v after %v, want that it was interrupted, at once", err, took)
			}
			return
		case <-time.After(20 * time.Millisecond):
			if err := own.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The programs of a pair have ports of their own.
func TestFreePorts(t *testing.T) {
	for range 100 {
		ports, err := freePorts()
		if err != nil {
			t.Fatal(err)
		}
		if ports[0] == "" || ports[0] == ports[1] {
			t.Fatalf("freePorts() = %q, want two", ports)
		}
	}
}

// No worktree is left behind where git fails when it has made one, as by a hook.
func TestWorktreeIsRemoved(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		testutil.Lacks(t, "GIT", "needs git")
	}
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"} { // of a test within a hook
		t.Setenv(name, "")
		_ = os.Unsetenv(name)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Chdir(t.TempDir())
	made := func(args ...string) string {
		t.Helper()
		out, err := git(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	made("init", "-q")
	made("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one")
	if err := os.MkdirAll(filepath.Join(".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(".git", "hooks", "post-checkout"), []byte("#!/bin/sh\nexit 2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := options{ref: "HEAD"}
	if _, _, _, err := o.build(t.Context(), ".", t.TempDir()); err == nil || !strings.Contains(err.Error(), "worktree add") {
		t.Errorf("build() = %v, want what git says", err)
	}
	if trees := made("worktree", "list", "--porcelain"); strings.Count(trees, "worktree ") != 1 {
		t.Errorf("there are worktrees: %s", trees)
	}
}
