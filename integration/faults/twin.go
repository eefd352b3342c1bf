package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/otelprof/otelprof/integration/internal/fetch"
)

// A twin is one of the two services, in a process of its own.
type twin struct {
	addresses
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// startTwin starts the service and waits until it answers.
func startTwin(ctx context.Context, kind string, f fault, b *bench, stderr io.Writer) (*twin, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append([]string{"-" + serviceFlag, kind}, f.service...)
	t := &twin{cmd: exec.CommandContext(ctx, program, args...)}
	t.cmd.Env = append(os.Environ(), b.env(kind)...)
	t.cmd.Stderr = stderr
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	t.lines = bufio.NewScanner(out)
	t.lines.Buffer(nil, 1<<20)
	if !t.lines.Scan() {
		return nil, fmt.Errorf("service %s: it has not started: %w", kind, errors.Join(t.lines.Err(), t.cmd.Wait()))
	}
	if err := json.Unmarshal(t.lines.Bytes(), &t.addresses); err != nil {
		t.kill()
		return nil, fmt.Errorf("service %s: first line %q: %w", kind, t.lines.Text(), err)
	}
	return t, nil
}

// state asks for the state.
func (t *twin) state(ctx context.Context) (s state, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = fetch.JSON(ctx, http.DefaultClient, t.Control+"/state", &s)
	return s, err
}

// harm has the service do something to its own process; stop ends that.
func (t *twin) harm(ctx context.Context, kind string, n int) (stop func(), err error) {
	if err := t.control(ctx, http.MethodPost, fmt.Sprintf("/harm/%s?n=%d", kind, n)); err != nil {
		return nil, err
	}
	return func() { _ = t.control(context.WithoutCancel(ctx), http.MethodDelete, "/harm") }, nil
}

func (t *twin) control(ctx context.Context, method, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	_, err := fetch.Do(ctx, http.DefaultClient, method, t.Control+path, http.NoBody)
	return err
}

// resident returns the resident memory in MiB, now (VmRSS) or at its peak (VmHWM); 0 where that is
// unknown.
func (t *twin) resident(field string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, field+": %d kB", &kib); n == 1 {
			return kib / 1024
		}
	}
	return 0
}

// exitTimeout is how long a service may take from SIGTERM to its end: its Shutdown's deadline, and
// the requests'.
const exitTimeout = shutdownTimeout + 2*time.Second

// end sends SIGTERM, and returns the last state and how long the process took to end.
func (t *twin) end() (s state, took time.Duration, err error) {
	started := time.Now()
	if err := t.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return s, 0, err
	}
	timer := time.AfterFunc(exitTimeout, t.kill)
	defer timer.Stop()
	var last []byte
	for t.lines.Scan() {
		last = append(last[:0], t.lines.Bytes()...)
	}
	err = t.cmd.Wait()
	took = time.Since(started)
	if err != nil {
		return s, took, fmt.Errorf("after SIGTERM, in %v: %w", took.Round(time.Millisecond), err)
	}
	return s, took, json.Unmarshal(last, &s)
}

func (t *twin) kill() { _ = t.cmd.Process.Kill() }
