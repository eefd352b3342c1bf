package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stopTime is how long a program may take to end in good order.
const stopTime = 30 * time.Second

// A program runs as a process of its own, and serves the viewer.
type program struct {
	url  string // of the viewer, with a slash at its end
	end  context.CancelFunc
	done chan error // has one value when the process has ended
}

// build builds a program of a module into a folder and returns its file.
func build(ctx context.Context, module, pkg, dir string) (string, error) {
	file := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, pkg)
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s in %s: %w\n%s", pkg, module, err, text)
	}
	return file, nil
}

// start runs a program and waits until it says where its viewer is.
func start(ctx context.Context, file string, args ...string) (*program, error) {
	name := filepath.Base(file)
	ctx, end := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &program{end: end, done: make(chan error, 1)}
	lines := bufio.NewScanner(out)
	for p.url == "" && lines.Scan() {
		p.url = viewerIn(lines.Text())
	}
	go func() {
		for lines.Scan() { // so that it never waits for a reader
		}
		p.done <- cmd.Wait()
	}()
	if p.url == "" {
		return nil, errors.Join(fmt.Errorf("%s: it says no address of its viewer", name), p.stop())
	}
	return p, nil
}

// viewerIn returns the address in a line such as "viewer  http://127.0.0.1:8080/" or
// "http://127.0.0.1:8080/", or "".
func viewerIn(line string) string {
	text := strings.TrimSpace(strings.TrimPrefix(line, "viewer "))
	if !strings.HasPrefix(text, "http://") {
		return ""
	}
	return strings.TrimSuffix(text, "/") + "/"
}

// stop ends the program and waits for it. That it was interrupted is as it should be.
func (p *program) stop() error {
	p.end()
	if err := <-p.done; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
