// Setup builds the Collector, Prometheus and Jaeger into .tools, and fetches what the tests of the
// page need, which is Chromium, by apt-get where that is there and root runs this, and axe-core,
// and what dashboards are checked against. It does nothing twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/otelprof/otelprof/integration/backends/programs"
	"github.com/otelprof/otelprof/integration/internal/command"
)

func main() {
	command.Main("setup", func(ctx context.Context) error { return run(ctx, os.Stdout) }, syscall.SIGTERM)
}

func run(ctx context.Context, w io.Writer) error {
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	source, tools := filepath.Join(root, "integration", "backends"), filepath.Join(root, ".tools")
	for _, p := range programs.All {
		if err := p.Build(ctx, source, tools, w); err != nil {
			return err
		}
	}
	return errors.Join(fetch(ctx, source, tools, "axe", w), fetch(ctx, source, tools, "grafana", w), installChromium(ctx, w))
}

// repository returns the root of the one that has the working folder.
func repository(ctx context.Context) (string, error) {
	module, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	dir := filepath.Dir(strings.TrimSpace(string(module)))
	if filepath.Base(dir) != "integration" {
		return "", fmt.Errorf("module %s: must be that of integration", dir)
	}
	return filepath.Dir(dir), nil
}

// fetch fetches the npm packages that a folder's lock file names. Without npm the tests that want
// them say what is missing.
func fetch(ctx context.Context, source, tools, name string, w io.Writer) error {
	from, to := filepath.Join(source, name), filepath.Join(tools, name)
	const lockFile = "package-lock.json"
	lock, err := os.ReadFile(filepath.Join(from, lockFile))
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(filepath.Join(to, lockFile)); err == nil && string(have) == string(lock) {
		if _, err := os.Stat(filepath.Join(to, "node_modules", ".package-lock.json")); err == nil { // what npm writes last
			fmt.Fprintf(w, "%s: fetched, %s\n", name, to)
			return nil
		}
	}
	if !has("npm") {
		fmt.Fprintf(w, "%s: not fetched, npm is not installed\n", name)
		return nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, file := range []string{"package.json", lockFile} {
		text, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, file), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "%s: fetching\n", name)
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stdout, cmd.Stderr = to, w, w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: npm ci: %w", name, err)
	}
	return nil
}

// installChromium asks Debian for it. Elsewhere the browser's tests say that it is missing.
func installChromium(ctx context.Context, w io.Writer) error {
	switch {
	case has("chromium") || has("chromium-browser") || has("google-chrome"):
		fmt.Fprintln(w, "chromium: installed")
		return nil
	case !has("apt-get") || os.Getuid() != 0:
		fmt.Fprintln(w, "chromium: not installed; as root of a Debian: apt-get install chromium")
		return nil
	}
	fmt.Fprintln(w, "chromium: installing")
	for _, args := range [][]string{{"-qq", "update"}, {"-qq", "-y", "--no-install-recommends", "install", "chromium"}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(w, "chromium: not installed: apt-get %v: %v\n%s", args, err, out)
			return nil // the tests that want it say so
		}
	}
	return nil
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
