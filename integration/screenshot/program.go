package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/otelprof/otelprof/integration/internal/child"
)

// stopTime is how long a program may take to end in good order.
const stopTime = 30 * time.Second

// A program runs as a process of its own, and serves the viewer.
type program struct {
	url  string // of the viewer, with a slash at its end
	end  context.CancelFunc
	wait func() error // until it has ended
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

// start runs a program and waits until it prints where its viewer is.
func start(ctx context.Context, file string, args ...string) (*program, error) {
	ctx, end := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	url, wait, err := child.Start(cmd, "viewer")
	if err != nil {
		end()
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return &program{url: url + "/", end: end, wait: wait}, nil
}

// stop ends the program and waits for it. That it was interrupted is as it should be.
func (p *program) stop() error {
	p.end()
	if err := p.wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
