package command

import (
	"errors"
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
