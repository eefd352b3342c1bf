package plans

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/otelprof/otelprof/causal/plan"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/client"
	"github.com/otelprof/otelprof/cmd/otelprof/internal/command"
)

// A fileTarget is a file that programs read, with the signature beside it.
type fileTarget string

// newFileTarget refuses what may be a host without its port: no file of that name is there, and it
// has neither a folder nor the extension of a plan. A push would make a file of it that no program
// reads.
func newFileTarget(name string) (target, error) {
	t := fileTarget(name)
	if t.missing() && filepath.Base(name) == name && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
		return nil, command.Usagef("to %q: must be HOST:PORT, a URL or a file; a new one is ./%s", name, name)
	}
	return t, nil
}

func (t fileTarget) String() string { return "file " + string(t) }

// missing reports whether there is no file.
func (t fileTarget) missing() bool {
	_, err := os.Lstat(string(t))
	return errors.Is(err, fs.ErrNotExist)
}

func (t fileTarget) generation(context.Context) (uint64, error) {
	document, err := client.ReadLimited(string(t), plan.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return generationOf(document), err
}

// push replaces the signature first: a reader between the two finds one that does not fit, and
// looks again.
func (t fileTarget) Push(_ context.Context, document, signature []byte, _ bool) error {
	if signature == nil {
		if err := remove(string(t) + ".sig"); err != nil {
			return err
		}
	} else if err := replaceFile(string(t)+".sig", signature); err != nil {
		return err
	}
	return replaceFile(string(t), document)
}

func (t fileTarget) Stop(context.Context) error {
	return errors.Join(remove(string(t)), remove(string(t)+".sig"))
}

func (t fileTarget) status(context.Context) (status, error) {
	document, err := client.ReadLimited(string(t), plan.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return fileStatus{}, nil
	}
	if err != nil {
		return nil, err
	}
	plan, err := plan.Parse(document)
	if err != nil {
		return fileStatus{Error: err.Error()}, nil
	}
	return fileStatus{Plan: plan, Hash: plan.Hash()}, nil
}

func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, client.WithoutPath(err))
	}
	return nil
}

// replaceFile is [command.ReplaceFile] of a regular file. Other users may read it, unless they
// could not before.
func replaceFile(name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: must be a regular file", name)
		}
		mode = info.Mode().Perm()
	}
	err := command.ReplaceFile(name, mode, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, client.WithoutPath(err))
	}
	return nil
}
