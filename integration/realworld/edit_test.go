package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEdit(t *testing.T) {
	const text = "package a\n\nimport (\n\t\"fmt\"\n)\n\nvar x, y = 1, 1\n"
	for _, tc := range []struct {
		name string
		edit edit
		want string // what the file is then, or what the error says
		err  bool
	}{
		{"replaces", edit{"a/a.go", "var x", "var z"}, strings.Replace(text, "var x", "var z", 1), false},
		{"imports", imports("a/a.go", "x/y"), strings.Replace(text, "import (\n", "import (\n\t\"x/y\"\n", 1), false},
		{"is not there", edit{"a/a.go", "var a", "var z"}, `a/a.go: "var a": must be there once, is there 0 times`, true},
		{"is there twice", edit{"a/a.go", "1", "2"}, `a/a.go: "1": must be there once, is there 2 times`, true},
		{"no such file", edit{"a/b.go", "var x", "var z"}, "a/b.go: no such file", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a", "a.go")
			if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := tc.edit.apply(dir)
			got, readErr := os.ReadFile(path)
			if readErr != nil {
				t.Fatal(readErr)
			}
			switch {
			case !tc.err && (err != nil || string(got) != tc.want):
				t.Errorf("apply = %v, file %q; want %q", err, got, tc.want)
			case tc.err && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("apply = %v, want an error with %q", err, tc.want)
			case tc.err && string(got) != text:
				t.Errorf("file %q is changed in spite of the error", got)
			}
		})
	}
}
