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
	if err := child.Build(ctx, dir, ".", file, "-mod=mod"); err != nil {
		return "", fmt.Errorf("README's first snippet: %w", err)
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

// start starts the service with the variable that README names, on a port that is free, and waits
// until it answers. Its address is where it takes orders, page the viewer's.
func start(ctx context.Context, file string) (s *child.Child, page string, err error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, "", err
	}
	address := net.JoinHostPort("127.0.0.1", free[0])
	cmd := exec.Command(file)
	cmd.Env = append(os.Environ(), "OTELPROF_VIEWER="+address)
	cmd.Stderr = os.Stderr
	s, err = child.Start(ctx, cmd, "service")
	return s, "http://" + address + "/", err
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
