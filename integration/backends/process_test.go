package backends

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/integration/internal/ports"
)

// A process is a program that runs in the background, with its output in a file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how, valid after done
}

// start runs a program until the test ends, or stop.
func start(t testing.TB, name, program string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.Command(program, args...), log: filepath.Join(artefacts(t), name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = dieWithParent()
	err = p.cmd.Start()
	_ = log.Close() // the process has its own
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.stop()
		if t.Failed() {
			t.Logf("%s: the end of %s:\n%s", name, p.log, p.tail())
		}
	})
	return p
}

// succeeds waits until the process ends, and fails the test unless it ends well.
func (p *process) succeeds(t testing.TB) {
	t.Helper()
	if <-p.done; p.err != nil {
		t.Fatalf("%s: %v\n%s", p.name, p.err, p.tail())
	}
}

// stop asks the process to end, waits, and returns how it has ended. A process that does not end is
// killed.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.kill()
		return fmt.Errorf("%s: does not end within 30 s", p.name)
	}
	return p.err
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// tail returns the last lines that the process wrote.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-8):], "\n")
}

// ready waits until a URL answers 200.
func (p *process) ready(t testing.TB, url string) {
	t.Helper()
	eventually(t, 30*time.Second, func() error {
		select {
		case <-p.done:
			t.Fatalf("%s: has ended: %v\n%s", p.name, p.err, p.tail())
		default:
		}
		_, err := get(t.Context(), url)
		return err
	})
}

// eventually repeats what has an error, for some time.
func eventually(t testing.TB, limit time.Duration, try func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", limit, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// client keeps no connections, which would look like leaks.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// get returns what a URL answers, which must be 200.
func get(ctx context.Context, url string) ([]byte, error) {
	return fetch.Do(ctx, client, http.MethodGet, url, http.NoBody)
}

// getJSON is get of JSON.
func getJSON(ctx context.Context, url string, into any) error {
	return fetch.JSON(ctx, client, url, into)
}

// freeAddress returns an unused address on the loopback, another one each time.
func freeAddress(t testing.TB) string {
	t.Helper()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", free[0])
}

func portOf(t testing.TB, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
