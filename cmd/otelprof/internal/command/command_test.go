package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is no regular file, as /dev/stdout is a link, stays where it is when it cannot be written.
func TestOutputToRemovesFilesOnly(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "target"), nil, 0o600), os.Symlink("target", link)); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("disk full")
	for name, want := range map[string]bool{file: false, link: true} {
		err := new(Call).OutputTo(name, func(io.Writer) error { return failed })
		if _, errStat := os.Lstat(name); !errors.Is(err, failed) || (errStat == nil) != want {
			t.Errorf("OutputTo(%s) = %v; there after that: %v, want %t", name, err, errStat, want)
		}
	}
}

// A file is replaced as a whole, or stays as it was.
func TestOutputToReplacesFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("disk full")
	for _, tt := range []struct {
		err  error
		want string
	}{{failed, "old"}, {nil, "new"}} {
		err := new(Call).OutputTo(file, func(w io.Writer) error {
			_, err := io.WriteString(w, "new")
			return errors.Join(err, tt.err)
		})
		text, errRead := os.ReadFile(file)
		info, errStat := os.Stat(file)
		if !errors.Is(err, tt.err) || errors.Join(errRead, errStat) != nil || string(text) != tt.want || info.Mode().Perm() != 0o600 {
			t.Errorf("%v: %q, %v, %v; want %q", tt.err, text, err, errStat, tt.want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: want the file alone", left, err)
	}
}

// A file that cannot be made is called by its own name.
func TestOutputToNamesTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "file")
	err := new(Call).OutputTo(file, func(io.Writer) error { return nil })
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), file+": ") {
		t.Errorf("OutputTo(%s) = %v, want an error with that name", file, err)
	}
}

func TestUnknownCommand(t *testing.T) {
	run := func(*Call) error { return nil }
	c := &Command{Name: "p", Sub: []*Command{{Name: "report", Run: run}, {Name: "top", Run: run}, {Name: "stacks", Sub: []*Command{{Name: "show", Run: run}}}}}
	for args, want := range map[string]string{
		"repot":         `p: unknown command "repot": did you mean report?; see p help`,
		"Top":           `p: unknown command "Top": did you mean top?; see p help`,
		"stacks shwo":   `p stacks: unknown command "shwo": did you mean show?; see p stacks help`,
		"frobnicate":    `p: unknown command "frobnicate"; see p help`,
		"stacks report": `p stacks: unknown command "report"; see p stacks help`,
	} {
		if err := c.Execute(nil, strings.Fields(args), nil, io.Discard, io.Discard); !errors.Is(err, ErrUsage) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// Flags stand before arguments, between them or behind them.
func TestParseArgs(t *testing.T) {
	for words, want := range map[string]string{
		"":                  "o= []",
		"-o x a b":          "o=x [a b]",
		"a -o x b":          "o=x [a b]",
		"a b -o=x":          "o=x [a b]",
		"a - -o x -":        "o=x [a - -]",
		"-o x -- a -o y":    "o=x [a -o y]",
		"a -o x -- -- -o y": "o=x [a -- -o y]",
		"a -x":              "flag provided but not defined: -x",
		"a b c d e":         "5 arguments: must be at most 4",
	} {
		var got string
		c := &Command{Name: "p", Run: func(c *Call) error {
			o := c.String("o", "", "")
			err := c.ParseArgs(0, 4)
			got = fmt.Sprintf("o=%s %v", *o, c.Args())
			return err
		}}
		err := c.Execute(nil, strings.Fields(words), nil, io.Discard, io.Discard)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}

func TestHelpBehindArguments(t *testing.T) {
	var out strings.Builder
	c := &Command{Name: "p", Args: "FILE…", Short: "Do it", Run: func(c *Call) error { return c.ParseArgs(1, 1) }}
	if err := c.Execute(nil, []string{"a", "-h"}, nil, &out, io.Discard); err != nil || !strings.HasPrefix(out.String(), "usage: p ") {
		t.Errorf("p a -h: %v, %q, want the usage", err, out.String())
	}
}
