package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/otelprof/otelprof/integration/internal/child"
	"github.com/otelprof/otelprof/integration/internal/fetch"
	"github.com/otelprof/otelprof/integration/internal/ports"
)

//go:embed service.go.txt
var service string

// build makes a module with the service, and README's first snippet in it, and builds that. Its
// modules have the versions that examples/go.mod names.
func build(ctx context.Context, root, dir string) (file string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return "", err
	}
	snippet, err := firstSnippet(string(readme))
	if err != nil {
		return "", err
	}
	mod, errMod := os.ReadFile(filepath.Join(root, "examples", "go.mod"))
	sum, errSum := os.ReadFile(filepath.Join(root, "examples", "go.sum"))
	if err := errors.Join(errMod, errSum, os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	module := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(mod), "module example.com/service")
	module = strings.ReplaceAll(module, "=> ../", "=> "+root+"/")
	for name, text := range map[string]string{
		"main.go": strings.Replace(service, "\t// README\n", snippet, 1), "go.mod": module, "go.sum": string(sum),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	file = filepath.Join(dir, "service.bin")
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", file, ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of README's first snippet: %w\n%s", err, text)
	}
	return file, nil
}

// firstSnippet is the first block of Go.
func firstSnippet(readme string) (string, error) {
	_, rest, found := strings.Cut(readme, "```go\n")
	snippet, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		return "", errors.New("README.md: must have a block of Go")
	}
	return snippet, nil
}

// A running service.
type running struct {
	page, orders string
	cmd          *exec.Cmd
	wait         func() error // until it has ended
}

// start starts the service with the variable that README names, on a port that is free, and waits
// until it answers.
func start(ctx context.Context, file string) (*running, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	page := net.JoinHostPort("127.0.0.1", free[0])
	cmd := exec.CommandContext(ctx, file)
	cmd.Env = append(os.Environ(), "OTELPROF_VIEWER="+page)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	orders, wait, err := child.Start(cmd, "service")
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	return &running{page: "http://" + page + "/", orders: orders, cmd: cmd, wait: wait}, nil
}

func (r *running) stop() error {
	err := r.cmd.Process.Signal(os.Interrupt)
	return errors.Join(err, r.wait())
}

// clients send requests one after the other, until end is called.
const clients = 4

func request(ctx context.Context, url string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := fetch.Do(ctx, http.DefaultClient, http.MethodPost, url, http.NoBody); err != nil {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}
