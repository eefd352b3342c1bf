package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	ours = "github.com/otelprof/otelprof"
	// unreleased is the version of ours that the program's go.mod names; it is replaced by the
	// checkout.
	unreleased = "v0.0.0"
)

// A source is where a program is built: a folder of ours, or a copy of the program's module with
// the edits made.
type source struct {
	program
	root string // of this checkout
	dir  string // of the main package's module
	out  string // of what is built
}

// checkout returns the root of the one that has the working folder.
func checkout(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", ours).Output()
	if err != nil {
		return "", fmt.Errorf("go list -m %s: %w", ours, describe(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// describe adds what a command has written to an error that is its status alone.
func describe(err error) error {
	if status := (*exec.ExitError)(nil); errors.As(err, &status) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(status.Stderr))
	}
	return err
}

// download has the go command put a module into its cache, and returns the module's folder there.
// It needs no go.mod.
func download(ctx context.Context, module, version string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if json.Unmarshal(out, &answer) == nil && answer.Error != "" {
		return "", fmt.Errorf("module %s@%s: %s", module, version, answer.Error)
	}
	if err != nil {
		return "", fmt.Errorf("go mod download %s@%s: %w", module, version, describe(err))
	}
	return answer.Dir, nil
}

// prepare makes a folder below tools for what is built, and the copy anew if there is to be one.
func prepare(ctx context.Context, p program, root, tools string) (source, error) {
	s := source{program: p, root: root, dir: filepath.Join(root, "integration", "realworld", "programs", p.name), out: filepath.Join(tools, p.name)}
	if err := os.MkdirAll(s.out, 0o755); err != nil || !p.copied() {
		return s, err
	}
	from, err := download(ctx, p.module, p.version)
	if err != nil {
		return source{}, err
	}
	s.dir = filepath.Join(s.out, "source")
	if err := os.RemoveAll(s.dir); err != nil {
		return source{}, err
	}
	if err := os.CopyFS(s.dir, os.DirFS(from)); err != nil {
		return source{}, err
	}
	if err := s.change(ctx); err != nil {
		return source{}, fmt.Errorf("%s %s: %w", p.module, p.version, err)
	}
	return s, nil
}

// change makes the edits, adds package control, and lets go.mod know this checkout.
func (s source) change(ctx context.Context) error {
	if err := s.makeEdits(); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.root, "integration", "realworld", "control", "control.go"))
	if err != nil {
		return err
	}
	control := filepath.Join(s.dir, filepath.FromSlash(strings.TrimPrefix(s.control(), s.module+"/")))
	if err := os.MkdirAll(control, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(control, "control.go"), text, 0o644); err != nil {
		return err
	}
	if err := s.addSums(); err != nil {
		return err
	}
	_, err = s.command(ctx, "go", "mod", "edit", "-require="+ours+"@"+unreleased, "-replace="+ours+"="+s.root)
	return err
}

func (s source) makeEdits() error {
	for _, e := range s.edits {
		if err := e.apply(s.dir); err != nil {
			return err
		}
	}
	return nil
}

// addSums adds the checkout's go.sum to the module's: our dependencies may be newer.
func (s source) addSums() error {
	sums, err := os.ReadFile(filepath.Join(s.root, "go.sum"))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "go.sum"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(sums)
	return errors.Join(err, f.Close())
}

// A build is one way to compile a program.
type build string

const (
	stock     build = "go"
	byTheTool build = "otelprof" // otelprof build
)

// build compiles the program and returns the path of the binary. Tool is otelprof's, for byTheTool.
func (s source) build(ctx context.Context, b build, tool string) (string, error) {
	command := "go"
	if b == byTheTool {
		command = tool
	}
	binary := filepath.Join(s.out, s.name+"-"+string(b))
	args := []string{"build", "-o", binary}
	if s.copied() {
		args = append(args, "-mod=mod", s.pkg)
	}
	_, err := s.command(ctx, command, args...)
	return binary, err
}

// command runs a command in the copy, and returns its standard output. What it writes to standard
// error is part of its error.
func (s source) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), describe(err))
	}
	return string(out), nil
}

// buildTool builds the command otelprof of the checkout, and returns its path.
func buildTool(ctx context.Context, root, tools string) (string, error) {
	tool := filepath.Join(tools, "otelprof")
	s := source{dir: root}
	_, err := s.command(ctx, "go", "build", "-o", tool, "./cmd/otelprof")
	return tool, err
}
